"""metl initial-load: rows of a table into the warehouse, by SQL."""

import json

import click
import psycopg
from rich.markup import escape
from rich.progress import Progress

from metl.cli.source import source_option
from metl.db.connection import address, connect, snapshot, transaction
from metl.errors import MetlError
from metl.util.prompts import agree, why_option, yes_option
from metl.util.terminal import console, counted, print_json, table
from metl.warehouse.initial_load import Feed, FeedFilter, feeds, parse_table, table_of, topic_of
from metl.warehouse.table_rows import copy_rows, count_rows, key_of, require_exact_casts, source_errors


@click.command(short_help="Rows of a table into the warehouse, by SQL.")
@click.argument("entity")
@click.option("--schema", required=True, help="Of which schema the table is; its newest version says what is mapped.")
@source_option("The database of the table", required=True)
@click.option("--table", "name", help="The table, if the schema's name does not say so.")
@click.option("--topic", help="Where the messages of its rows are, if several topics have this schema.")
@why_option
@yes_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def initial_load(
    entity: str, schema: str, source: str, name: str | None, topic: str | None, why: str, yes: bool, as_json: bool
) -> None:
    """Put the rows of a PostgreSQL table into the warehouse's table of ENTITY: all of them, as they are now, or none.

    The rows are those that `metl sql ENTITY --schema SCHEMA --newest` selects. They count as read a minute ago: what
    the warehouse has from newer messages stays, and newer messages replace them. Rows that are gone at the source are
    not looked for. `metl warehouse` waits with this entity meanwhile. Who did it and why is recorded in
    metl.operations. Needs a member of metl_steward or metl_job.
    """
    with snapshot(address()) as connection:
        feed, topic = _found(connection, entity, schema, topic)
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
        agree(f"Put {counted(count, 'row')} of {schema} into the warehouse?", yes)
        with transaction(address()) as connection:
            begin = "select metl.begin_operation('initial_load', %s, %s)"
            [(operation,)] = connection.execute(begin, (why, json.dumps(about))).fetchall()
            if _found(connection, entity, schema, topic)[0] != feed:
                raise MetlError(
                    f"What {schema} has for {entity} has changed meanwhile, so nothing was done. Try again."
                )
            with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as progress:
                task = progress.add_task("rows", total=count)
                merged = copy_rows(rows, connection, feed, topic, from_table, lambda more: progress.advance(task, more))
            connection.execute("select metl.end_operation(%s, %s)", (operation, json.dumps({"merged": merged})))
    if as_json:
        print_json({"operation": operation, **about, "merged": merged})
    else:
        click.echo(f"Merged {counted(merged, 'row')} of {schema} into the warehouse, as operation {operation}.")


def _found(connection: psycopg.Connection, entity: str, schema: str, topic: str | None) -> tuple[Feed, str]:
    [feed] = feeds(connection, entity, FeedFilter(schema=schema, newest=True))
    return feed, topic_of(connection, schema, topic)
