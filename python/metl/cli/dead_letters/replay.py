"""metl dead-letters replay, metl dead-letters give-up: another try, or none."""

from typing import Any

import click

from metl.cli.dead_letters.display import preview
from metl.cli.dead_letters.filters import attempts_option, filters, replays_option
from metl.cli.options import dry_run_option, json_option, kafka_config_option, why_option, yes_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot, transaction
from metl.errors import BadInput
from metl.streams import broker
from metl.streams.dead_letters import select
from metl.streams.dead_letters.replay import BATCH, Sender
from metl.streams.operations import Operation, operation
from metl.util.prompts import confirm
from metl.util.terminal import plural, print_json

DRY_RUN = "Nothing was changed: a dry run."


@click.command(short_help="Send dead letters through the mapper again.")
@click.argument("numbers", type=int, nargs=-1)
@filters
@click.option("--force", is_flag=True, help="Also those sent --attempts times, and of NUMBERS those given up.")
@attempts_option
@replays_option
@dry_run_option
@why_option
@yes_option
@kafka_config_option
@json_option
def replay(
    numbers: tuple[int, ...], force: bool, attempts: int, replays: str, dry_run: bool, why: str, yes: bool,
    kafka_config: str | None, as_json: bool, **wanted: str | None,
) -> None:  # fmt: skip
    """Send dead letters through the mapper again: those with NUMBERS, or those that the options choose.

    They keep their bytes and their position. One that fails again comes back with its new reason; of one that is
    mapped nothing is heard, so that its status stays "sent". The options choose only those that wait, with status
    "dead": one that was sent may have been mapped. Needs a member of metl_steward.

    \b
    metl dead-letters replay 17 --why 'the version is there now'
    metl dead-letters replay --topics 'shop\\..*' --reason malformed --why 'the topic is read as flat now' --dry-run
    """
    with snapshot(database_dsn()) as connection:
        letters = select.require(connection, numbers, status=None if numbers else "dead", **wanted)
    kept = [letter for letter in letters if not letter["is_purged"] and (force or letter["status"] != "given_up")]
    able = [letter for letter in kept if force or letter["replays"] < attempts]
    left_out = len(kept) - len(able)
    groups = preview(able, as_json)
    if not able:
        raise BadInput(
            f"No dead letter can be sent: {left_out} of {len(letters)} already sent {plural(attempts, 'time')}, the "
            "others given up or without a payload. --force sends those that have one."
        )
    if left_out:
        click.echo(f"Left out: {left_out} already sent {plural(attempts, 'time')}. --force sends them too.", err=True)
    if dry_run:
        if as_json:
            print_json({"sent": 0, "left_out": left_out, "groups": groups, "dry_run": True})
        else:
            click.echo(DRY_RUN)
        return
    confirm(f"Send {plural(len(able), 'dead letter')} to {replays}?", yes)
    sender = Sender(broker.settings(kafka_config), replays)
    about = {"letters": len(able), "to": replays, "force": force, "groups": groups}
    with operation(database_dsn(), "replay", why, about) as begun:
        begun.outcome["letters"] = 0
        _send(sender, begun, [letter["letter"] for letter in able], bool(numbers), None if force else attempts)
    sent = begun.outcome["letters"]
    if as_json:
        print_json({"operation": begun.number, "sent": sent, "left_out": left_out, "groups": groups})
    else:
        click.echo(f"Sent {plural(sent, 'dead letter')} to {replays}, as operation {begun.number}.")


def _send(sender: Sender, begun: Operation, numbers: list[int], is_named: bool, attempts: int | None) -> None:
    with transaction(database_dsn()) as connection:
        for start in range(0, len(numbers), BATCH):
            batch = numbers[start : start + BATCH]
            if not is_named:
                # The collector, or somebody else, may have sent or given up some of them since they were shown.
                batch = [letter["letter"] for letter in select.find(connection, letters=batch, status="dead")]
            claimed = rows(connection, "select * from metl.send_letters(%s, %s, %s)", [batch, begun.number, attempts])
            count = sender.send(claimed)
            # Only now: what Kafka does not have was not sent.
            connection.commit()
            begun.outcome["letters"] += count


@click.command("give-up", short_help="Say that dead letters are not worth another try.")
@click.argument("numbers", type=int, nargs=-1)
@filters
@click.option("--purge", is_flag=True, help="Also delete their payloads, for ever; that they were there stays.")
@dry_run_option
@why_option
@yes_option
@json_option
def give_up(
    numbers: tuple[int, ...], purge: bool, dry_run: bool, why: str, yes: bool, as_json: bool, **wanted: str | None
) -> None:
    """Say that dead letters are not worth another try: those with NUMBERS, or those that the options choose.

    Their rows stay, with who gave them up and why in metl.operations. The options choose only those that wait, with
    status "dead". Needs a member of metl_steward.

    \b
    metl dead-letters give-up 17 --purge --why 'asked to forget it'
    """
    with snapshot(database_dsn()) as connection:
        letters = select.require(connection, numbers, status=None if numbers else "dead", **wanted)
    groups = preview(letters, as_json)
    if not dry_run:
        confirm(f"Give {plural(len(letters), 'dead letter')} up{' and delete the payloads' if purge else ''}?", yes)
    count = 0 if dry_run else _give_up([letter["letter"] for letter in letters], bool(numbers), why, purge)
    if as_json:
        answer: dict[str, Any] = {"given_up": count, "groups": groups}
        print_json(answer | {"dry_run": dry_run})
    else:
        click.echo(DRY_RUN if dry_run else f"Gave {plural(count, 'dead letter')} up.")


def _give_up(numbers: list[int], is_named: bool, why: str, purge: bool) -> int:
    with transaction(database_dsn()) as connection:
        if not is_named:
            # The collector may have sent some of them since they were shown.
            numbers = [letter["letter"] for letter in select.find(connection, letters=numbers, status="dead")]
        [(count,)] = connection.execute("select metl.give_up_letters(%s, %s, %s)", (numbers, why, purge)).fetchall()
    return int(count)
