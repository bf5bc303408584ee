"""metl initial-load: rows of a table into the warehouse, by SQL."""

import json

import click
from rich.markup import escape
from rich.progress import Progress

from metl.cli.asking import agree, why_option, yes_option
from metl.cli.display import console, print_json, table
from metl.database import address, connect, one_change
from metl.initial_load import Choice, feeds, named_table, table_of
from metl.table_rows import copy_rows, count_rows, key_of


@click.command(short_help="Rows of a table into the warehouse, by SQL.")
@click.argument("entity")
@click.option("--schema", required=True, help="Of which schema the table is; its newest version says what is mapped.")
@click.option(
    "--source", envvar="METL_SOURCE_DSN", required=True, help="The database of the table [env: METL_SOURCE_DSN]."
)
@click.option("--table", "name", help="The table, if the schema's name does not say so.")
@why_option
@yes_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def initial_load(entity: str, schema: str, source: str, name: str | None, why: str, yes: bool, as_json: bool) -> None:
    """Put the rows of a PostgreSQL table into the warehouse's table of ENTITY: all of them, as they are now, or none.

    The rows are those that `metl sql ENTITY --schema SCHEMA --newest` selects. They count as read at this moment: what
    the warehouse has from newer messages stays, and newer messages replace them. Who did it and why is recorded in
    metl.operations. Needs a member of metl_steward or metl_job.
    """
    with connect(source, "--source") as rows, one_change(address()) as connection:
        [feed] = feeds(connection, entity, Choice(schema=schema, newest=True))
        from_table = named_table(name, "postgres") if name else table_of(schema)
        key = key_of(rows, from_table)
        count = count_rows(rows, from_table)
        about = {"entity": entity, "schema": schema, "version": feed.version, "rows": count}
        if not as_json:
            shown = table("table", "rows", "to", "attributes")
            cells = (from_table.sql("postgres"), f"{count:,}", f"warehouse: {entity}", ", ".join(feed.sources))
            shown.add_row(*map(escape, cells))
            console.print(shown)
        agree(f"Put {count:,} rows of {schema} into the warehouse?", yes)
        begin = "select metl.begin_operation('initial_load', %s, %s)"
        [(operation,)] = connection.execute(begin, (why, json.dumps(about))).fetchall()
        with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as progress:
            task = progress.add_task("rows", total=count)
            merged = copy_rows(rows, connection, feed, from_table, key, lambda more: progress.advance(task, more))
        outcome = {"merged": merged}
        connection.execute("select metl.end_operation(%s, %s)", (operation, json.dumps(outcome)))
    if as_json:
        print_json({"operation": operation, **about, **outcome})
    else:
        click.echo(f"{merged:,} rows of {schema} are in the warehouse, as operation {operation}.")
