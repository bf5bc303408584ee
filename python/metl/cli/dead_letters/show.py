"""metl dead-letters summary, list, show: what could not be mapped."""

import json

import click
from psycopg import errors

from metl.cli.dead_letters.display import decoded, plain, show_rows
from metl.cli.dead_letters.filters import filters
from metl.cli.options import json_option, limit_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.streams.dead_letters import select
from metl.streams.dead_letters.record import decode_header
from metl.streams.dead_letters.select import COUNTS
from metl.util.terminal import console, print_json


@click.command(short_help="How many, by topic, reason and ref.")
@json_option
def summary(as_json: bool) -> None:
    """Count the dead letters by topic, reason and ref. Also as SQL: metl.dead_letters, without payloads."""
    with snapshot(database_dsn()) as connection:
        counts = rows(connection, COUNTS)
    if as_json:
        print_json(plain(counts))
    elif not counts:
        click.echo("There are no dead letters here. Those in Kafka come with: metl dead-letters collect")
    else:
        show_rows(counts, "topic", "reason", "schema", "ref", "status", "letters", "first_at", "last_at")


@click.command("list", short_help="Dead letters, the newest first.")
@filters
@click.option("--status", type=click.Choice(["dead", "sent", "given_up"]), help="Only those with this status.")
@limit_option(50, "so many of the last ones")
@json_option
def list_(limit: int, as_json: bool, **wanted: str | None) -> None:
    """List dead letters, the newest first, without their payloads.

    \b
    metl dead-letters list --topics 'shop\\..*' --since 2h
    """
    with snapshot(database_dsn()) as connection:
        letters = select.find(connection, **wanted, limit=limit)
    if as_json:
        print_json(plain(letters))
    elif not letters:
        click.echo("There are no such dead letters here.")
    else:
        show_rows(
            letters, "letter", "topic", "partition", "message_offset", "reason", "ref", "state", "status", "replays",
            "last_at",
        )  # fmt: skip


@click.command(short_help="One dead letter, with its payload.")
@click.argument("number", type=int)
@json_option
def show(number: int, as_json: bool) -> None:
    """Show all of the dead letter with this NUMBER; its payload only to members of metl_steward.

    \b
    metl dead-letters show 17
    """
    with snapshot(database_dsn()) as connection:
        letters = select.require(connection, (number,))
        try:
            with connection.transaction():
                payload = rows(connection, "select * from metl.letter_payload(%s)", [number])[0]
        except errors.InsufficientPrivilege:
            payload = None
    about = plain(letters)[0]
    if payload is not None and payload["headers"] is not None:
        about |= {
            "key": decoded(payload["key"]),
            "value": decoded(payload["value"]),
            "headers": [[name, decoded(value)] for name, value in map(decode_header, payload["headers"])],
        }
    if as_json:
        print_json(about)
        return
    for name, value in about.items():
        console.print(f"{name:15} {value if isinstance(value, str) else json.dumps(value)}", markup=False)
    if payload is None:
        click.echo("Its payload is for members of metl_steward.")
