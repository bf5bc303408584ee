"""metl jobs list, metl jobs stop: what maps, and how it goes."""

from typing import Any

import click
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import dict_row

from metl.cli.options import dry_run_option, json_option
from metl.config import database_dsn
from metl.db.connection import connect, snapshot
from metl.errors import BadInput, MetlError
from metl.util.terminal import console, print_json, table

COUNTS = ("rows_in", "rows_out", "rows_filtered", "dead")
#: Seconds from which on a job that reads what waited counts as catching up.
LATE = 10


@click.command("list", short_help="What maps, and how it goes.")
@json_option
def list_(as_json: bool) -> None:
    """List the jobs: the state they map under, what they did, how long it took, what waits.

    Counts are since the start of the job, and "of" all that it did since it was started first. The times p50 and p99
    are of messages that came while it ran, in its last batch that had such; how long others had waited before, when a
    job catches up, is shown as its status.

    Also as SQL: metl.jobs has a row for each job, metl.job_batches one for each batch.
    """
    with snapshot(database_dsn()) as connection:
        jobs = connection.cursor(row_factory=dict_row).execute("select * from metl.jobs order by job").fetchall()
    if as_json:
        print_json([_plain(job) for job in jobs])
    elif not jobs:
        click.echo("No job was ever started here. Start one with: metl map --topics 'shop\\..*'")
    else:
        _show(jobs)


@click.command(short_help="Let a job finish its batch and stop.")
@click.argument("job")
@dry_run_option
@json_option
def stop(job: str, dry_run: bool, as_json: bool) -> None:
    """Let JOB finish its batch and stop, wherever it runs.

    \b
    metl jobs stop map
    """
    with snapshot(database_dsn()) as connection:
        running = dict(connection.execute("select job, running from metl.jobs order by job").fetchall())
    if job not in running:
        raise BadInput(f"There is no job {job!r}. There is: {', '.join(running) or 'none'}.")
    with connect(database_dsn()) as connection, connection.transaction(force_rollback=dry_run):
        try:
            connection.execute("select metl.stop_job(%s)", [job])
        except InsufficientPrivilege:
            raise MetlError(
                f"{connection.info.user} may not stop jobs. Use METL_DSN of a member of metl_job or metl_steward."
            ) from None
    if as_json:
        print_json({"job": job, "running": running[job], "dry_run": dry_run})
    elif not running[job]:
        click.echo(f"Job {job} does not run.")
    elif dry_run:
        click.echo(f"Nothing was changed: a dry run. Job {job} would stop after its batch.")
    else:
        click.echo(f"Job {job} stops after its batch.")


def _show(jobs: list[dict[str, Any]]) -> None:
    shown = table(
        "job", "status", "state", "behind", "in", "out", "filtered", "dead", "p50 ms", "p99 ms", "lag", "matrix"
    )
    for job in jobs:
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
    for job in jobs:
        if job["reason"]:
            console.print(f"{job['job']}: {job['reason']}", markup=False)


def _status(job: dict[str, Any]) -> str:
    """The last that it reported, unless it is gone."""
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
