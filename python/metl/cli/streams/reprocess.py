"""metl streams reprocess: maps again what outdated cells have mapped."""

import contextlib
import uuid
from dataclasses import asdict, replace
from typing import Any

import click
from rich.markup import escape

from metl import config
from metl.cli.options import (
    State,
    dry_run_option,
    json_option,
    kafka_config_option,
    state_number,
    topic_option,
    why_option,
    yes_option,
)  # fmt: skip
from metl.config import database_dsn, kafka_servers
from metl.db.connection import connect, snapshot
from metl.stack.part import Say
from metl.streams import broker
from metl.streams.offsets import KafkaOffsets
from metl.streams.operations import operation
from metl.streams.outdated import OutdatedRange, clip_to_retained, count_unmapped, distinct_states, find_outdated
from metl.util.prompts import confirm
from metl.util.terminal import console, plural, print_json, table


@click.command(short_help="Map again what outdated cells mapped.")
@click.option("--since-state", type=State(), required=True, help="The state before the change: a number, or previous.")
@topic_option("Only this topic.")
@click.option("--job", default="reprocess", show_default=True, help="The name under which `metl jobs list` shows it.")
@click.option("--prefix", default="cdm.", show_default=True, help="Entities go to topics of this prefix.")
@click.option("--dead-letters", default="metl.dead", show_default=True, help="The topic of what cannot be mapped.")
@kafka_config_option
@dry_run_option
@why_option
@yes_option
@json_option
def reprocess(
    since_state: str, topic: str | None, job: str, prefix: str, dead_letters: str, kafka_config: str | None,
    dry_run: bool, why: str, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Map again what was mapped with cells that changed after a state, and nothing else.

    The plan comes from the cells that were lost and gained since, and from the offsets that each batch of each job has
    read under which state. The messages come out with the same positions and a higher metl.state: of two records with
    the same position, that one is right. What is not mapped to an entity any more is taken back by a delete. What
    mappers read while this runs is not touched.

    \b
    metl streams reprocess --since-state 41 --why 'label was mapped wrongly' --dry-run
    """
    with snapshot(database_dsn()) as connection:
        since = state_number(connection, since_state)
        planned = find_outdated(connection, since, topic)
    kafka = KafkaOffsets(broker.settings(kafka_config))
    try:
        ranges, gone = clip_to_retained(planned, kafka)
    finally:
        kafka.close()
    work = _Work(job, prefix, dead_letters, kafka_config, say=lambda text: click.echo(text, err=as_json))
    with contextlib.ExitStack() as stack:
        if any(each.needs_counting for each in ranges):
            click.echo("Other versions have messages there, too: counting those that are meant.", err=True)
            ranges = work.counted(stack, ranges)
        with snapshot(database_dsn()) as connection:
            states = distinct_states(connection, ranges)
            behind = count_unmapped(connection, ranges, states)
        count = sum(each.messages for each in ranges)
        plan = {
            "ranges": [each.as_dict() for each in ranges], "messages": count, "gone": gone, "may_be_retracted": behind
        }  # fmt: skip
        if not as_json:
            _show(ranges)
        if gone:
            click.echo(f"{gone:,} messages are gone from Kafka and cannot be mapped again.", err=True)
        if not ranges:
            if as_json:
                print_json(plan)
            else:
                click.echo(f"Nothing that Kafka has was mapped with cells that changed since state {since}.")
            return
        for entity, most in behind.items():
            click.echo(
                f"Up to {most:,} records of {entity} are taken back: they are not mapped to it any more.", err=True
            )
        if dry_run:
            if as_json:
                print_json({**plan, "dry_run": True})
            else:
                click.echo(f"Nothing was changed: a dry run. {plural(count, 'message')} would be mapped again.")
            return
        confirm(f"Map {plural(count, 'message')} again?", yes)
        with operation(database_dsn(), "reprocess", why, {"since_state": since, **plan}) as begun:
            done = work.run(stack, ranges, states)
            begun.outcome.update(done)
    if as_json:
        print_json({"operation": begun.number, **plan, "mapped": done["messages"], "retracted": done["retracted"]})
    else:
        undone = f", took {plural(done['retracted'], 'record')} back" if done["retracted"] else ""
        click.echo(f"Mapped {plural(done['messages'], 'message')} again{undone}, as operation {begun.number}.")


class _Work:
    """What needs Spark, which is started when it is needed first: most plans do without."""

    def __init__(self, job: str, prefix: str, dead_letters: str, kafka_config: str | None, *, say: Say) -> None:
        from metl.streams.client_options import read_kafka_options
        from metl_spark.reprocessing.settings import ReprocessSettings

        self._settings = ReprocessSettings(
            topics="reprocess", job=job, brokers=kafka_servers(), prefix=prefix,
            checkpoint=str(config.home().path / "checkpoints" / job), dead_letters=dead_letters,
            kafka_options=read_kafka_options(kafka_config, ()),
        )  # fmt: skip
        self._say = say
        self._spark: Any = None

    def counted(self, stack: contextlib.ExitStack, ranges: list[OutdatedRange]) -> list[OutdatedRange]:
        """Each with how many messages it has that are meant; without those that have none."""
        from metl_spark.reprocessing import job
        from metl_spark.reprocessing.choose import Choice
        from metl_spark.runtime.control import jdbc
        from metl_spark.runtime.failures import explained

        with connect(database_dsn()) as connection:
            reading = jdbc(connection)
            [(state,)] = connection.execute("select metl.current_state()").fetchall()
        with explained():
            choices = [Choice.of(each) for each in ranges]
            counts = job.count(self._session(stack), self._settings, reading, state, choices)
        return [replace(each, counted=count) for each, count in zip(ranges, counts, strict=True) if count]

    def run(self, stack: contextlib.ExitStack, ranges: list[OutdatedRange], states: list[int]) -> dict[str, int]:
        from metl_spark.reprocessing import job
        from metl_spark.reprocessing.choose import Choice
        from metl_spark.runtime.control import Control
        from metl_spark.runtime.failures import explained

        topics = "|".join(sorted({each.topic.replace(".", r"\.") for each in ranges}))
        settings = replace(self._settings, topics=topics)
        instance = str(uuid.uuid4())
        with Control.open(settings, instance) as control, explained():
            spark = self._session(stack)
            choices = [Choice.of(each) for each in ranges]
            return asdict(job.reprocess(spark, settings, control, instance, choices, states, self._say))

    def _session(self, stack: contextlib.ExitStack) -> Any:
        from metl_spark.runtime.session import session

        if self._spark is None:
            self._spark = stack.enter_context(session(self._settings, bulk=True))
        return self._spark


def _show(ranges: list[OutdatedRange]) -> None:
    if not ranges:
        return
    shown = table("topic", "partition", "from", "to", "messages", "of versions", "mapped under")
    for each in ranges:
        ends = sorted({*each.states[:1], *each.states[-1:]})
        states = "-".join(map(str, ends)) or "not recorded"
        numbers = (each.first, each.end - 1, each.messages)
        versions = ", ".join(map(str, each.versions))
        shown.add_row(escape(each.topic), str(each.partition), *(f"{number:,}" for number in numbers), versions, states)
    console.print(shown)
