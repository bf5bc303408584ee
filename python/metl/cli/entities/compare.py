"""metl entities compare: the rows of the sources beside those of the warehouse."""

import contextlib
from collections.abc import Iterator

import click
import psycopg
from rich.markup import escape
from rich.progress import Progress as Bar

from metl.cli.entities.compare_display import Report, plain, show
from metl.cli.options import json_option, source_option, topic_option
from metl.cli.output import EXIT_NO
from metl.config import database_dsn
from metl.db.connection import connect, snapshot
from metl.errors import BadInput, MetlError
from metl.util.terminal import console, print_json
from metl.warehouse.compare import orphans
from metl.warehouse.compare.columns import warehouse_table
from metl.warehouse.compare.tables import Progress, Settings, compare, prepare
from metl.warehouse.initial_load import Feed, FeedFilter, feeds, parse_table, table_of, topic_of

#: Those that are behind, or ended without being asked to.
JOBS = """
select job, running, lag from metl.jobs
where (lag > 0 or not running and status <> 'stopped') order by job
"""


@click.command("compare", short_help="The rows of the sources beside those of the warehouse.")
@click.argument("entity")
@click.option("--schema", help="Only rows of this schema. Default: of all whose newest version feeds the entity.")
@source_option("The database of the tables", required=True)
@click.option("--table", "name", help="The table of the schema, if its name does not say so.")
@topic_option("Where the messages of its rows are, if several topics have this schema.")
@click.option("--sample", type=click.IntRange(min=1), help="Compare so many rows only, chosen by a hash of their key.")
@click.option("--examples", type=click.IntRange(min=0), default=5, show_default=True, help="Show so many of each kind.")
@click.option(
    "--wait", type=click.FloatRange(min=0), default=10, show_default=True,
    help="Seconds for which rows that differ are looked at again: they may be in flight.",
)  # fmt: skip
@json_option
@click.pass_context
def compare_(
    context: click.Context, entity: str, schema: str | None, source: str, name: str | None, topic: str | None,
    sample: int | None, examples: int, wait: float, as_json: bool,
) -> None:  # fmt: skip
    """Compare the warehouse's table of ENTITY with what `metl entities sql ENTITY --version newest` selects.

    Every value is compared, by hashes that the two servers compute; 1.10 equals 1.1, and JSON is compared by content.
    Rows that differ are looked at again for some seconds. Those that become equal meanwhile, or change at both ends,
    are in flight. What stays is missing in the warehouse, extra there, different, or was rejected (warehouse._rejected
    says why). Attributes that the newest version of a schema does not feed are listed apart: they are no difference.

    Exit codes: 0 no difference, 3 they differ, 1 something failed, 2 the command or its input is wrong.
    Needs a member of metl_reader, and a role that may select at the source.

    \b
    export METL_SOURCE_DSN=…
    metl entities compare person
    metl entities compare person --schema shop.public.customer --sample 10000
    """
    if schema is None and (name or topic):
        raise BadInput(f"--{'table' if name else 'topic'} needs --schema: say whose it is.")
    settings = Settings(sample, examples, wait)
    with connect(source, "--source") as rows, snapshot(database_dsn()) as connection:
        prepare(rows, connection)
        wanted = _wanted(connection, entity, schema, topic)
        made = warehouse_table(connection, entity)
        done = []
        for feed, of_topic in wanted:
            from_table = parse_table(name, "postgres") if name else table_of(feed.schema)
            with _one_of([each.schema for each, _ in wanted]), _progress(feed.schema, as_json) as progress:
                done.append(compare(rows, connection, feed, of_topic, from_table, settings, progress))
        # Another snapshot: what has changed meanwhile is seen.
        connection.commit()
        if _wanted(connection, entity, schema, topic) != wanted:
            raise MetlError(f"What feeds {entity} has changed meanwhile. Try again.")
        others = orphans.count_orphaned_rows(connection, made, [each for _, each in wanted]) if schema is None else {}
        behind = connection.execute(JOBS).fetchall() if any(each.summary.counts for each in done) else []
    report = Report(entity, done, others, behind)
    if as_json:
        print_json(plain(report))
    else:
        show(report)
    if report.differs:
        context.exit(EXIT_NO)


def _wanted(
    connection: psycopg.Connection, entity: str, schema: str | None, topic: str | None
) -> list[tuple[Feed, str]]:
    sources = feeds(connection, entity, FeedFilter(schema=schema, newest=True))
    return [(feed, topic_of(connection, feed.schema, topic)) for feed in sources]


@contextlib.contextmanager
def _one_of(schemas: list[str]) -> Iterator[None]:
    """Where several schemas feed an entity, their tables may be in several databases."""
    try:
        yield
    except BadInput as error:
        if len(schemas) == 1:
            raise
        raise BadInput(
            f"{error} If its tables are in several databases, compare one schema at a time with --schema: "
            f"{', '.join(schemas)}."
        ) from None


@contextlib.contextmanager
def _progress(schema: str, as_json: bool) -> Iterator[Progress]:
    with Bar(console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
        task = bar.add_task(escape(schema), total=None)

        def update(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=f"{escape(schema)}: {what}", completed=done, total=total)

        yield update
