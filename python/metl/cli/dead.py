"""metl dead: what could not be mapped, and another try."""

import base64
import json
import signal
import threading
from datetime import datetime
from typing import Any

import click
from psycopg import errors
from rich.markup import escape

from metl.db.connection import address, rows, snapshot, transaction
from metl.errors import BadInput
from metl.home import Home
from metl.stack.postgres import Postgres
from metl.streams import broker
from metl.streams.dead_letters import select
from metl.streams.dead_letters.collect import Collector
from metl.streams.dead_letters.record import decode_header
from metl.streams.dead_letters.replay import BATCH, Sender
from metl.streams.dead_letters.select import COUNTS
from metl.util.prompts import agree, why_option, yes_option
from metl.util.terminal import console, counted, print_json, table

MOST = 5
SHOWN = 50
replays_option = click.option("--replays", default="metl.replay", show_default=True, help="The topic to send them to.")
most_option = click.option(
    "--most",
    type=click.IntRange(1),
    default=MOST,
    show_default=True,
    help="Send no letter more often than that.",
)
config_option = click.option(
    "--kafka-config", envvar="METL_KAFKA_CONFIG", help="File of Kafka client properties [env: METL_KAFKA_CONFIG]."
)
json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")


def filters(command: Any) -> Any:
    """Which letters."""
    for option in (
        click.option("--since", help="Only those that died since then: 2026-03-01T12:30, or 90m, 2h, 3d ago."),
        click.option("--ref", help="Only those whose message names its version by this, such as 'global_id 17'."),
        click.option("--schema", help="Only those of this schema."),
        click.option("--reason", help="Only those with this reason: malformed, unknown_version and so on."),
        click.option("--topic", help="Only those from this topic; * stands for any run of characters."),
    ):
        command = option(command)
    return command


@click.group(invoke_without_command=True, short_help="Look at dead letters, and send them again.")
@json_option
@click.pass_context
def dead(context: click.Context, as_json: bool) -> None:
    """Show, collect and replay dead letters: messages that could not be mapped.

    Without a command, how many there are by topic, reason and ref. Also as SQL: metl.dead_letters, without payloads.
    """
    if context.invoked_subcommand is not None:
        return
    with snapshot(address()) as connection:
        found = rows(connection, COUNTS)
    if as_json:
        print_json(_plain(found))
    elif not found:
        click.echo("There are no dead letters here. Those in Kafka come with: metl dead collect")
    else:
        _show(found, "topic", "reason", "schema", "ref", "status", "letters", "first_at", "last_at")


@dead.command("list")
@filters
@click.option("--status", type=click.Choice(["dead", "sent", "given_up"]), help="Only those with this status.")
@click.option("--limit", type=click.IntRange(1), default=SHOWN, show_default=True, help="The last ones only.")
@json_option
def list_(limit: int, as_json: bool, **wanted: str | None) -> None:
    """List dead letters, the newest first, without what they say."""
    with snapshot(address()) as connection:
        found = select.find(connection, **wanted, limit=limit)
    if as_json:
        print_json(_plain(found))
    elif not found:
        click.echo("There are no such dead letters here.")
    else:
        _show(
            found, "letter", "topic", "partition", "message_offset", "reason", "ref", "state", "status", "replays",
            "last_at",
        )  # fmt: skip


@dead.command()
@click.argument("letter", type=int)
@json_option
def show(letter: int, as_json: bool) -> None:
    """Show all of LETTER; what it says only to members of metl_steward."""
    with snapshot(address()) as connection:
        found = select.require(connection, (letter,))
        try:
            with connection.transaction():
                payload = rows(connection, "select * from metl.letter_payload(%s)", [letter])[0]
        except errors.InsufficientPrivilege:
            payload = None
    about = _plain(found)[0]
    if payload is not None and payload["headers"] is not None:
        about |= {
            "key": _said(payload["key"]),
            "value": _said(payload["value"]),
            "headers": [[name, _said(value)] for name, value in map(decode_header, payload["headers"])],
        }
    if as_json:
        print_json(about)
        return
    for name, value in about.items():
        console.print(f"{name:15} {value if isinstance(value, str) else json.dumps(value)}", markup=False)
    if payload is None:
        click.echo("What it says is for members of metl_steward.")


@dead.command()
@click.argument("letters", type=int, nargs=-1)
@filters
@click.option("--force", is_flag=True, help="Also those sent --most times, and of LETTERS those given up.")
@most_option
@replays_option
@why_option
@yes_option
@config_option
@json_option
def replay(
    letters: tuple[int, ...], force: bool, most: int, replays: str, why: str, yes: bool, kafka_config: str | None,
    as_json: bool, **wanted: str | None,
) -> None:  # fmt: skip
    """Send dead letters through the mapper again: LETTERS, or those that the options choose.

    They keep their bytes and their position. A letter that fails again comes back with its new reason; of one that
    is mapped nothing is heard, so that its status stays "sent". The options choose only letters that wait, with
    status "dead". Needs a member of metl_steward.
    """
    with snapshot(address()) as connection:
        found = select.require(connection, letters, status=None if letters else "dead", **wanted)
    kept = [letter for letter in found if not letter["is_purged"] and (force or letter["status"] != "given_up")]
    able = [letter for letter in kept if force or letter["replays"] < most]
    left = len(kept) - len(able)
    preview = _preview(able, as_json)
    if not able:
        raise BadInput(
            f"No letter can be sent: {left} of {len(found)} already sent {counted(most, 'time')}, the others given up "
            "or without a payload. --force sends those that have one."
        )
    if left:
        click.echo(f"Left out: {left} already sent {counted(most, 'time')}. --force sends them too.", err=True)
    agree(f"Send {counted(len(able), 'letter')} to {replays}?", yes)
    settings = broker.settings(kafka_config)
    sender = Sender(settings, replays)
    about = json.dumps({"letters": len(able), "to": replays, "force": force, "groups": preview})
    with transaction(address()) as connection:
        [(operation,)] = connection.execute("select metl.begin_operation('replay', %s, %s)", (why, about)).fetchall()
        connection.commit()
        sent = 0
        for begin in range(0, len(able), BATCH):
            numbers = [letter["letter"] for letter in able[begin : begin + BATCH]]
            if not letters:
                # The collector, or somebody else, may have sent or given up some of them since they were shown.
                numbers = [letter["letter"] for letter in select.find(connection, letters=numbers, status="dead")]
            arguments = [numbers, operation, None if force else most]
            sent += sender.send(rows(connection, "select * from metl.send_letters(%s, %s, %s)", arguments))
            # Only now: what Kafka does not have was not sent.
            connection.commit()
        connection.execute("select metl.end_operation(%s, %s)", (operation, json.dumps({"letters": sent})))
    if as_json:
        print_json({"operation": operation, "sent": sent, "left_out": left, "groups": preview})
    else:
        click.echo(f"Sent {counted(sent, 'letter')} to {replays}, as operation {operation}.")


@dead.command("give-up")
@click.argument("letters", type=int, nargs=-1)
@filters
@click.option("--purge", is_flag=True, help="Also drop what they say, for ever; that they were there stays known.")
@why_option
@yes_option
@json_option
def give_up(letters: tuple[int, ...], purge: bool, why: str, yes: bool, as_json: bool, **wanted: str | None) -> None:
    """Say that letters are not worth another try: LETTERS, or those that the options choose.

    Their rows stay, with who gave them up and why in metl.operations. The options choose only letters that wait, with
    status "dead": one that was sent may have been mapped. Needs a member of metl_steward.
    """
    with snapshot(address()) as connection:
        found = select.require(connection, letters, status=None if letters else "dead", **wanted)
    preview = _preview(found, as_json)
    agree(f"Give {counted(len(found), 'letter')} up{' and drop what they say' if purge else ''}?", yes)
    with transaction(address()) as connection:
        numbers = [letter["letter"] for letter in found]
        if not letters:
            # The collector, or somebody else, may have sent some of them since they were shown.
            numbers = [letter["letter"] for letter in select.find(connection, letters=numbers, status="dead")]
        [(count,)] = connection.execute("select metl.give_up_letters(%s, %s, %s)", (numbers, why, purge)).fetchall()
    if as_json:
        print_json({"given_up": count, "groups": preview})
    else:
        click.echo(f"Gave {counted(count, 'letter')} up.")


@dead.command()
@click.option("--watch", is_flag=True, help="Go on, and send letters again when a new state knows their version.")
@click.option("--dead-letters", default="metl.dead", show_default=True, help="The topic of dead letters.")
@click.option("--job", default="collect", show_default=True, help="The name under which `metl jobs` shows it.")
@most_option
@replays_option
@config_option
@json_option
def collect(
    watch: bool, dead_letters: str, job: str, most: int, replays: str, kafka_config: str | None, as_json: bool
) -> None:
    """Bring dead letters from Kafka into the database, each once.

    One collector works on a topic at a time. How far it is stands in the database, beside the letters. With --watch it
    goes on until Ctrl-C, SIGTERM or `metl jobs stop`, and sends letters with reason unknown_version again, once a
    mapper uses a state that knows the version. Needs METL_JOB_DSN (a member of metl_job).
    """
    postgres = Postgres(Home.from_environment())
    address()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: stop.set())
    collector = Collector(
        postgres.job_address,
        broker.settings(kafka_config),
        job=job,
        topic=dead_letters,
        replays=replays,
        max_replays=most,
        report=lambda text: click.echo(text, err=as_json),
    )
    collector.run(watch=watch, stop=stop)
    if as_json:
        print_json(collector.counts)
    else:
        came, new, sent = (collector.counts[name] for name in ("came", "new", "sent"))
        click.echo(f"{counted(came, 'letter')} came from {dead_letters}, {new:,} new; {sent:,} sent again.")


def _preview(letters: list[dict[str, Any]], as_json: bool) -> list[dict[str, Any]]:
    """How many of what, before anything is done."""
    found = select.summarize(letters)
    if not as_json and found:
        _show(found, "topic", "reason", "ref", "letters")
    return found


def _show(found: list[dict[str, Any]], *columns: str) -> None:
    shown = table(*(column.replace("message_", "").replace("_at", "") for column in columns))
    for row in found:
        shown.add_row(*(escape(_text(row[column])) for column in columns))
    console.print(shown)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: str(value) if isinstance(value, datetime) else value for name, value in row.items()} for row in found
    ]


def _said(data: bytes | None) -> Any:
    """As text if it is text."""
    if data is None:
        return None
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
