"""metl offsets: how far jobs are, and letting them go back or ahead."""

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click
import psycopg
from rich.markup import escape

from metl.db.connection import address, snapshot, transaction
from metl.errors import BadInput
from metl.streams import broker
from metl.streams.checkpoint import Checkpoint, Offsets
from metl.streams.offsets import KafkaOffsets, parse_offsets, require_retained, resolve
from metl.util.nearest import nearest
from metl.util.prompts import agree, why_option, yes_option
from metl.util.terminal import console, print_json, table
from metl.util.timestamps import parse_timestamp

config_option = click.option(
    "--kafka-config", envvar="METL_KAFKA_CONFIG", help="File of Kafka client properties [env: METL_KAFKA_CONFIG]."
)


@click.group(short_help="Show or reset how far a job is.")
def offsets() -> None:
    """Show how far jobs are in their topics, and reset them.

    For jobs whose checkpoint is a folder of this machine, by the offsets that Spark keeps there.
    """


@offsets.command()
@click.argument("job")
@config_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def show(job: str, kafka_config: str | None, as_json: bool) -> None:
    """Show where the next batch of JOB begins in each partition, beside what Kafka has."""
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
                f"before they were read. To go on with what is left: metl offsets reset {job} --to earliest"
            )
    for topic in sorted(committed.keys() - kafka.topics):
        click.echo(f"Topic {topic} is not there any more.")


@offsets.command()
@click.argument("job")
@click.option(
    "--to", "wanted", help='earliest, latest, a moment (2026-03-01T12:30, or 2h ago), or {"topic": {"0": 123}}.'
)
@click.option("--topic", help="Only this topic.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition of it.")
@click.option("--offset", type=click.IntRange(0), help="Instead of --to: this offset of that partition.")
@why_option
@yes_option
@config_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def reset(
    job: str, wanted: str | None, topic: str | None, partition: int | None, offset: int | None, why: str, yes: bool,
    kafka_config: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Let JOB go on from another position: back, to map messages again, or ahead, to skip some.

    Says first how many messages that is. Refused while the job runs. Messages that are mapped again come out with the
    same positions, under the newer state. Who did it and why is recorded in metl.operations. Needs a member of
    metl_steward or metl_job.
    """
    if (wanted is None) == (offset is None):
        raise BadInput("Say where to: with --to, or with --topic, --partition and --offset.")
    if offset is not None and (topic is None or partition is None):
        raise BadInput("--offset needs --topic and --partition: say of which one it is.")
    if partition is not None and topic is None:
        raise BadInput("--partition needs --topic: say whose partition it is.")
    with transaction(address()) as connection, _kafka(kafka_config) as kafka:
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
        agree(f"Let job {job} read {repeated:,} messages again and skip {skipped:,}?", yes)
        about = {"job": job, "moves": moves, "gone": gone, "repeated": repeated, "skipped": skipped}
        [(operation,)] = connection.execute(
            "select metl.begin_operation('reset', %s, %s)", (why, json.dumps(about))
        ).fetchall()
        batch = checkpoint.write(_merged(before, target, kafka))
        connection.execute("select metl.end_operation(%s, %s)", (operation, json.dumps({"batch": batch})))
    if as_json:
        print_json({"operation": operation, **about})
    else:
        click.echo(f"Job {job} goes on from there when it starts, as operation {operation}.")


def _forgetting(topic: str, *, is_there: bool) -> str:
    """What the warehouse has to know: it goes by offsets."""
    made = f"Topic {topic} was made anew: its offsets begin again" if is_there else f"If {topic} is made anew"
    named = topic.replace("'", "''")
    return (
        f"{made}, and tables would take its messages for old ones. So that they do not, once metl warehouse has merged "
        f"what was sent before: select metl.forget_positions('{named}')"
    )


def _checkpoint(job: str) -> Checkpoint:
    with snapshot(address()) as connection:
        known = dict(connection.execute("select job, checkpoint from metl.jobs").fetchall())
    if job not in known:
        raise BadInput(f"There is no job {job!r}.{nearest(job, known)}")
    if known[job].startswith("kafka:"):
        raise BadInput(f"Job {job} keeps how far it is in the database: metl.dead_positions has it.")
    return Checkpoint(known[job])


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
