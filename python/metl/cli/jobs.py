"""metl jobs: what maps, and how it goes."""

from typing import Any

import click
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import dict_row

from metl.db.connection import address, connect, snapshot
from metl.errors import BadInput, MetlError
from metl.util.terminal import console, print_json, table

COUNTS = ("rows_in", "rows_out", "rows_filtered", "dead")
#: Seconds from which on a job that reads what waited is said to catch up.
LATE = 10


@click.group(invoke_without_command=True, short_help="What maps, and how it goes.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def jobs(context: click.Context, as_json: bool) -> None:
    """Show the jobs: the state they map under, what they did, how long it took, what waits.

    Counts are since the start of the job, and "of" all that it did since it was started first. The times p50 and p99
    are of messages that came while it ran, in its last batch that had such; how long others had waited before, when a
    job catches up, is said as its status.

    Also as SQL: metl.jobs has a row for each job, metl.job_batches one for each batch.
    """
    if context.invoked_subcommand is not None:
        return
    with snapshot(address()) as connection:
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
    with snapshot(address()) as connection:
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
            *(_count(job[column], job[f"{column}_ever"]) for column in COUNTS),
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
    if not job["running"]:
        return job["status"] if job["status"] in over else f"gone (was {job['status']})"
    behind = (job["behind_ms"] or 0) // 1000
    return f"{job['status']}, catching up: {_long(behind)} behind" if behind >= LATE else str(job["status"])


def _long(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _count(since_start: int | None, ever: int | None) -> str:
    """One that was never started again has one number."""
    return f"{since_start or 0:,}" if since_start == ever else f"{since_start or 0:,} of {ever or 0:,}"


def _text(value: object) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _plain(job: dict[str, Any]) -> dict[str, Any]:
    simple = (str, int, bool, dict, type(None))
    plain = {name: value if isinstance(value, simple) else str(value) for name, value in job.items()}
    rate = job["rows_per_second"]
    return plain | {"rows_per_second": None if rate is None else float(rate)}
