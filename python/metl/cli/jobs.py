"""metl jobs: what maps, and how it goes."""

from typing import Any

import click
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import dict_row

from metl.cli.display import console, print_json, table
from metl.database import address, connect, one_state
from metl.errors import BadInput, MetlError


@click.group(invoke_without_command=True, short_help="What maps, and how it goes.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def jobs(context: click.Context, as_json: bool) -> None:
    """Show the jobs: the state they map under, what they did, how long it took, what waits.

    Also as SQL: metl.jobs has a row for each job, metl.job_batches one for each batch.
    """
    if context.invoked_subcommand is not None:
        return
    with one_state(address()) as connection:
        found = connection.cursor(row_factory=dict_row).execute("select * from metl.jobs order by job").fetchall()
    if as_json:
        print_json([_plain(job) for job in found])
    elif not found:
        click.echo("No job was ever started here. Start one with: metl map --topics 'shop\\..*'")
    else:
        _show(found)


@jobs.command()
@click.argument("job")
def stop(job: str) -> None:
    """Let JOB finish its batch and stop, wherever it runs."""
    with one_state(address()) as connection:
        known = dict(connection.execute("select job, running from metl.jobs order by job").fetchall())
    if job not in known:
        raise BadInput(f"There is no job {job!r}. There is: {', '.join(known) or 'none'}.")
    with connect(address()) as connection:
        try:
            connection.execute("select metl.stop_job(%s)", [job])
        except InsufficientPrivilege:
            raise MetlError(
                f"{connection.info.user} may not stop jobs. Use METL_DSN of a member of metl_job or metl_steward."
            ) from None
    click.echo(f"Job {job} was told to stop after its batch." if known[job] else f"Job {job} does not run.")


def _show(found: list[dict[str, Any]]) -> None:
    shown = table(
        "job", "status", "state", "behind", "in", "out", "filtered", "dead", "p50 ms", "p99 ms", "lag", "matrix"
    )
    for job in found:
        latency = job["latency_ms"] or {}
        shown.add_row(
            job["job"],
            _status(job),
            _text(job["state"]),
            _text(job["states_behind"]),
            *(f"{job[column] or 0:,}" for column in ("rows_in", "rows_out", "rows_filtered", "dead")),
            _text(latency.get("p50")),
            _text(latency.get("p99")),
            _text(job["lag"]),
            f"{job['matrix_rows'] or 0:,} rows, {(job['matrix_bytes'] or 0) / 1000:,.0f} kB",
        )
    console.print(shown)
    for job in found:
        if job["reason"]:
            console.print(f"{job['job']}: {job['reason']}", markup=False)


def _status(job: dict[str, Any]) -> str:
    """What it last said of itself, unless nobody is there any more."""
    over = ("stopped", "halted", "failed")
    return job["status"] if job["running"] or job["status"] in over else f"gone (was {job['status']})"


def _text(value: object) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _plain(job: dict[str, Any]) -> dict[str, Any]:
    simple = (str, int, bool, dict, type(None))
    plain = {name: value if isinstance(value, simple) else str(value) for name, value in job.items()}
    rate = job["rows_per_second"]
    return plain | {"rows_per_second": None if rate is None else float(rate)}
