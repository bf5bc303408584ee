"""metl jobs offsets, metl jobs reset: how far jobs are, and letting them go back or ahead."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click
import psycopg
from rich.markup import escape

from metl.cli.options import (
    dry_run_option,
    json_option,
    kafka_config_option,
    topic_option,
    why_option,
    yes_option,
)  # fmt: skip
from metl.config import database_dsn
from metl.db.connection import snapshot, transaction
from metl.errors import BadInput
from metl.streams import broker
from metl.streams.checkpoint import Checkpoint, Offsets
from metl.streams.offsets import KafkaOffsets, parse_offsets, require_retained, resolve
from metl.streams.operations import operation
from metl.util.nearest import nearest
from metl.util.prompts import confirm
from metl.util.terminal import console, print_json, table
from metl.util.timestamps import parse_timestamp


@click.command(short_help="How far a job is in its topics.")
@click.argument("job")
@kafka_config_option
@json_option
def offsets(job: str, kafka_config: str | None, as_json: bool) -> None:
    """Show where the next batch of JOB begins in each partition, beside what Kafka has.

    For jobs whose checkpoint is a folder of this machine, by the offsets that Spark keeps there.

    \b
    metl jobs offsets map
    """
    committed = _checkpoint(job).read()
    with _kafka(kafka_config) as kafka:
        spans = kafka.ranges(committed)
    if as_json:
        print_json([vars(span) | {"to_go": span.lag} for span in spans])
        return
    shown = table("topic", "partition", "next", "earliest", "latest", "to go")
    for span in spans:
        numbers = (span.committed, span.earliest, span.latest, span.lag)
        shown.add_row(escape(span.topic), str(span.partition), *(f"{number:,}" for number in numbers))
    console.print(shown)
    for span in spans:
        if span.committed is not None and span.committed < span.earliest:
            click.echo(
                f"{span.earliest - span.committed} messages of {span.topic}, partition {span.partition} were gone "
                f"before they were read. To go on with what is left: metl jobs reset {job} --to earliest"
            )
    for topic in sorted(committed.keys() - kafka.topics):
        click.echo(f"Topic {topic} is not there any more.")


@click.command(short_help="Let a job go back or ahead.")
@click.argument("job")
@click.option(
    "--to", "wanted", help='earliest, latest, a moment (2026-03-01T12:30, or 2h ago), or {"topic": {"0": 123}}.'
)
@topic_option("Only this topic.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition of it.")
@click.option("--offset", type=click.IntRange(0), help="Instead of --to: this offset of that partition.")
@dry_run_option
@why_option
@yes_option
@kafka_config_option
@json_option
def reset(
    job: str, wanted: str | None, topic: str | None, partition: int | None, offset: int | None, dry_run: bool,
    why: str, yes: bool, kafka_config: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Let JOB go on from another position: back, to map messages again, or ahead, to skip some.

    Shows first how many messages that is. Refused while the job runs. Messages that are mapped again come out with the
    same positions, under the newer state. Who did it and why is recorded in metl.operations. Needs a member of
    metl_steward or metl_job.

    \b
    metl jobs reset map --to earliest --why 'a new entity'
    metl jobs reset map --topic shop.public.customer --partition 0 --offset 123 --why 'a bad release'
    """
    if (wanted is None) == (offset is None):
        raise BadInput("Say where to: with --to, or with --topic, --partition and --offset.")
    if offset is not None and (topic is None or partition is None):
        raise BadInput("--offset needs --topic and --partition: say of which one it is.")
    if partition is not None and topic is None:
        raise BadInput("--partition needs --topic: say whose partition it is.")
    with transaction(database_dsn()) as connection, _kafka(kafka_config) as kafka:
        connection.autocommit = True
        checkpoint = _checkpoint(job)
        _hold(connection, job)
        before = checkpoint.read()
        target = _target(kafka, before, wanted, topic, partition, offset)
        moves = _moves(before, target)
        repeated = sum(max(0, move["from"] - move["to"]) for move in moves)
        skipped = sum(max(0, move["to"] - move["from"]) for move in moves)
        if not as_json:
            _show(moves)
        gone = [f"{topic}, partition {partition}" for topic, partition in kafka.missing(before)]
        if gone:
            click.echo(f"Not there any more, and left out from now on: {'; '.join(gone)}.", err=True)
        anew = {span.topic for span in kafka.ranges(before) if span.was_recreated}
        for topic in sorted(anew | {topic for topic, _ in kafka.missing(before)}):
            click.echo(_forgetting(topic, is_there=topic in anew), err=True)
        if not moves and not gone:
            raise BadInput(f"Job {job} is there already. Nothing was done.")
        about = {"job": job, "moves": moves, "gone": gone, "repeated": repeated, "skipped": skipped}
        if dry_run:
            if as_json:
                print_json({**about, "dry_run": True})
            else:
                click.echo(f"Nothing was changed: a dry run. {repeated:,} messages again, {skipped:,} skipped.")
            return
        confirm(f"Let job {job} read {repeated:,} messages again and skip {skipped:,}?", yes)
        with operation(database_dsn(), "reset", why, about) as begun:
            begun.outcome["batch"] = checkpoint.write(_merged(before, target, kafka))
    if as_json:
        print_json({"operation": begun.number, **about})
    else:
        click.echo(f"Job {job} goes on from there when it starts, as operation {begun.number}.")


def _forgetting(topic: str, *, is_there: bool) -> str:
    """What the warehouse has to know: it goes by offsets."""
    made = f"Topic {topic} was made anew: its offsets begin again" if is_there else f"If {topic} is made anew"
    named = topic.replace("'", "''")
    return (
        f"{made}, and tables would take its messages for old ones. So that they do not, once metl warehouse has merged "
        f"what was sent before: select metl.forget_positions('{named}')"
    )


def _checkpoint(job: str) -> Checkpoint:
    with snapshot(database_dsn()) as connection:
        checkpoints = dict(connection.execute("select job, checkpoint from metl.jobs").fetchall())
    if job not in checkpoints:
        raise BadInput(f"There is no job {job!r}.{nearest(job, checkpoints)}")
    if checkpoints[job].startswith("kafka:"):
        raise BadInput(f"Job {job} keeps how far it is in the database: metl.dead_positions has it.")
    return Checkpoint(checkpoints[job])


@contextlib.contextmanager
def _kafka(config: str | None) -> Iterator[KafkaOffsets]:
    kafka = KafkaOffsets(broker.settings(config))
    try:
        yield kafka
    finally:
        kafka.close()


def _hold(connection: psycopg.Connection, job: str) -> None:
    """The lock that a job has while it runs: nobody can start it meanwhile."""
    held = "select pg_try_advisory_lock(hashtextextended('metl job ' || %s, 0))"
    if not connection.execute(held, (job,)).fetchall()[0][0]:
        raise BadInput(f"Job {job} runs. Stop it first with: metl jobs stop {job}")


def _target(
    kafka: KafkaOffsets,
    before: Offsets,
    wanted: str | None,
    topic: str | None,
    partition: int | None,
    offset: int | None,
) -> Offsets:
    if topic is not None and topic not in before:
        raise BadInput(f"This job does not read topic {topic!r}.{nearest(topic, before)}")
    if offset is not None:
        target = {str(topic): {int(partition or 0): offset}}
    elif str(wanted).lstrip().startswith("{"):
        target = parse_offsets(str(wanted), "--to")
        if strange := [name for name in target if name not in before]:
            raise BadInput(f"This job does not read topic {strange[0]!r}.{nearest(strange[0], before)}")
    else:
        spans = [
            span for span in kafka.ranges(before) if topic in (None, span.topic) and partition in (None, span.partition)
        ]
        if wanted not in ("earliest", "latest") and parse_timestamp(str(wanted), "--to") > datetime.now(UTC):
            raise BadInput(f"--to {wanted} is in the future. To skip all that waits: --to latest")
        target = resolve(kafka, str(wanted), spans, "--to")
    require_retained(target, kafka, "--to")
    return target


def _moves(before: Offsets, target: Offsets) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "partition": partition, "from": start, "to": offset}
        for topic, partitions in sorted(target.items())
        for partition, offset in sorted(partitions.items())
        if (start := before.get(topic, {}).get(partition, 0)) != offset
    ]


def _merged(before: Offsets, target: Offsets, kafka: KafkaOffsets) -> Offsets:
    """Without what Kafka has forgotten, which Spark would miss."""
    forgotten = set(kafka.missing(before))
    return {
        topic: kept
        for topic, partitions in before.items()
        if (
            kept := {each: at for each, at in partitions.items() if (topic, each) not in forgotten}
            | target.get(topic, {})
        )
    }


def _show(moves: list[dict[str, Any]]) -> None:
    shown = table("topic", "partition", "from", "to", "again", "skipped")
    for move in moves:
        distance = move["to"] - move["from"]
        numbers = (move["from"], move["to"], max(0, -distance), max(0, distance))
        shown.add_row(escape(move["topic"]), str(move["partition"]), *(f"{number:,}" for number in numbers))
    console.print(shown)
