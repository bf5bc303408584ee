"""metl matrix simulate: what the next version of a schema would lose."""

from typing import BinaryIO

import click
import psycopg
from psycopg.types.json import Jsonb

from metl.cli.options import json_option
from metl.cli.output import EXIT_NO, looks_like, print_cells
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.errors import BadInput
from metl.matrix import trees
from metl.matrix.draft import read
from metl.util.terminal import plural, print_json, printable, say

NEXT = "select 1 + max(version) from metl.schema_versions where schema = %s"
SIMULATE = "select * from metl.simulate(%s, %s) order by entity, entity_attribute"
RENAMES = "select * from metl.plan_renames(%s, %s, %s)"
LIVE = "select distinct schema from metl.schema_versions where schema = any(%s)"


@click.command(short_help="Whether a draft would lose mappings: a gate for CI.")
@click.argument("file", type=click.File("rb"))
@click.option("--schema", help="Whose next version it is, if the draft does not say so itself.")
@json_option
@click.pass_context
def simulate(context: click.Context, file: BinaryIO, schema: str | None, as_json: bool) -> None:
    """Tell whether the next version of a schema, drafted in FILE (- for stdin), would lose mappings.

    FILE is a schema of Kafka Connect, Avro or JSON Schema, of a row or of Debezium's envelope, or has attributes as
    metl.add_schema_version takes them. A gate for the CI of whoever owns the schema: nothing is changed.

    \b
    Exit codes: 0 nothing would be lost, 3 cells would be lost,
    1 something failed, such as a database that does not answer,
    2 the draft or the schema is wrong
    \b
    metl matrix simulate customer.avsc
    metl matrix simulate customer.json --schema shop.customer
    metl matrix simulate - --schema shop.customer --json < customer.json
    """
    path = getattr(file, "name", "stdin")
    draft = read(file.read(), path)
    with snapshot(database_dsn()) as connection:
        name = _schema(connection, schema, draft.names)
        [[version]] = connection.execute(NEXT, [name]).fetchall()
        try:
            lost = rows(connection, SIMULATE, [name, Jsonb(draft.attributes)])
            renames = rows(connection, RENAMES, [name, version, Jsonb(draft.attributes)]) if lost else []
        except psycopg.DataError as error:
            if error.diag.message_hint:
                raise
            raise BadInput(f"{path} cannot be read: {error.diag.message_primary}.") from None
    gone = {cell["attribute"] for cell in lost}
    renames = [each | {"score": float(each["score"])} for each in renames if each["attribute"] in gone]
    hurt = sorted({cell["entity"] for cell in lost})
    if as_json:
        answer = {"schema": name, "version": version, "safe": not lost, "entities": hurt, "lost": lost}
        print_json(answer | {"likely_renames": renames})
    elif not lost:
        say(f"Safe: version {version} of {printable(name)} would lose no mapping.")
    else:
        entities = ", ".join(map(printable, hurt))
        say(f"Version {version} of {printable(name)} would lose {plural(len(lost), 'cell')} of {entities}:")
        print_cells(lost)
        if renames:
            say(f"It looks like {looks_like(renames)}.")
        say("What goes on under another name keeps its cells if it says so: aliases in Avro, x-renamed-from elsewhere.")
    context.exit(EXIT_NO if lost else 0)


def _schema(connection: psycopg.Connection, given: str | None, drafted: list[str]) -> str:
    if given is not None:
        trees.live_versions(connection, given)
        return given
    if not drafted:
        raise BadInput("The draft does not say whose next version it is. Say so with --schema.")
    live = {schema for (schema,) in connection.execute(LIVE, [drafted])}
    for name in drafted:
        if name in live:
            return name
    raise BadInput(f"The draft calls itself {drafted[0]!r}, which no schema is called. Say whose it is with --schema.")
