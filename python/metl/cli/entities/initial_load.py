"""metl entities initial-load: rows of a table into the warehouse, by SQL."""

import click
import psycopg
from rich.markup import escape
from rich.progress import Progress

from metl.cli.options import (
    dry_run_option,
    json_option,
    source_option,
    topic_option,
    why_option,
    yes_option,
)  # fmt: skip
from metl.config import database_dsn
from metl.db.connection import connect, snapshot, transaction
from metl.errors import MetlError
from metl.streams.operations import operation
from metl.util.prompts import confirm
from metl.util.terminal import console, plural, print_json, table
from metl.warehouse.initial_load import Feed, FeedFilter, feeds, parse_table, table_of, topic_of
from metl.warehouse.table_rows import copy_rows, count_rows, key_of, require_exact_casts, source_errors


@click.command(short_help="Rows of a table into the warehouse, by SQL.")
@click.argument("entity")
@click.option("--schema", required=True, help="Of which schema the table is; its newest version says what is mapped.")
@source_option("The database of the table", required=True)
@click.option("--table", "name", help="The table, if the schema's name does not say so.")
@topic_option("Where the messages of its rows are, if several topics have this schema.")
@dry_run_option
@why_option
@yes_option
@json_option
def initial_load(
    entity: str, schema: str, source: str, name: str | None, topic: str | None, dry_run: bool, why: str, yes: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Put the rows of a PostgreSQL table into the warehouse's table of ENTITY: all of them, as they are now, or none.

    The rows are those that `metl entities sql ENTITY --schema SCHEMA --version newest` selects. They count as read a
    minute ago: what the warehouse has from newer messages stays, and newer messages replace them. Rows that are gone
    at the source are not looked for. `metl warehouse` waits with this entity meanwhile. Who did it and why is recorded
    in metl.operations. Needs a member of metl_steward or metl_job.

    \b
    export METL_SOURCE_DSN=…
    metl entities initial-load person --schema shop.public.customer --why 'the warehouse is new'
    """
    with snapshot(database_dsn()) as connection:
        feed, topic = _feed(connection, entity, schema, topic)
    require_exact_casts(feed)
    from_table = parse_table(name, "postgres") if name else table_of(schema)
    with connect(source, "--source") as rows:
        rows.autocommit = True
        with source_errors(from_table):
            key_of(rows, from_table)
            count = count_rows(rows, from_table)
        about = {"entity": entity, "schema": schema, "version": feed.version, "topic": topic, "rows": count}
        if not as_json:
            shown = table("table", "rows", "as if from", "entity", "attributes")
            cells = (from_table.sql("postgres"), f"{count:,}", topic, entity, ", ".join(feed.sources))
            shown.add_row(*map(escape, cells))
            console.print(shown)
        if dry_run:
            if as_json:
                print_json({**about, "dry_run": True})
            else:
                click.echo("Nothing was changed: a dry run.")
            return
        confirm(f"Put {plural(count, 'row')} of {schema} into the warehouse?", yes)
        with operation(database_dsn(), "initial_load", why, about) as begun:
            with (
                transaction(database_dsn()) as connection,
                Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as progress,
            ):
                if _feed(connection, entity, schema, topic)[0] != feed:
                    raise MetlError(
                        f"What {schema} has for {entity} has changed meanwhile, so nothing was done. Try again."
                    )
                task = progress.add_task("rows", total=count)
                merged = copy_rows(rows, connection, feed, topic, from_table, lambda more: progress.advance(task, more))
            begun.outcome["merged"] = merged
    if as_json:
        print_json({"operation": begun.number, **about, "merged": merged})
    else:
        click.echo(f"Merged {plural(merged, 'row')} of {schema} into the warehouse, as operation {begun.number}.")


def _feed(connection: psycopg.Connection, entity: str, schema: str, topic: str | None) -> tuple[Feed, str]:
    [feed] = feeds(connection, entity, FeedFilter(schema=schema, newest=True))
    return feed, topic_of(connection, schema, topic)
