"""metl streams diff: what two states make of real messages."""

import json
from decimal import Decimal
from typing import Any

import click
from rich.markup import escape

from metl.cli.options import State, json_option, kafka_config_option, limit_option, state_number, topic_option
from metl.config import database_dsn, kafka_servers
from metl.db.connection import connect, snapshot
from metl.errors import BadInput
from metl.streams import broker
from metl.streams.offsets import KafkaOffsets
from metl.streams.state_diff import Comparison, compare, outcomes
from metl.util.nearest import nearest
from metl.util.terminal import console, print_json, table


# A negative number is no option.
@click.command(
    context_settings={"ignore_unknown_options": True}, short_help="Compare what two states make of messages."
)
@click.argument("before", type=State(), default="previous")
@click.argument("after", type=State(), default="current")
@topic_option("The topic whose messages are mapped.", required=True)
@limit_option(1000, "so many of its last messages", most=100_000)
@click.option("--examples", type=click.IntRange(0), default=3, show_default=True, help="For each difference.")
@click.option("--values", is_flag=True, help="Show the values in the examples, which are business data.")
@kafka_config_option
@json_option
def diff(
    before: str, after: str, topic: str, limit: int, examples: int, values: bool, kafka_config: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Map messages of a topic under states BEFORE and AFTER and show what differs: nothing is sent.

    Trees, mappings, refs and how topics are read are all taken as they were in the states. The messages are the last
    ones of each partition.

    \b
    metl streams diff 41 42 --topic shop.public.customer
    metl streams diff previous --topic shop.public.customer --values
    """
    with snapshot(database_dsn()) as connection:
        states = (state_number(connection, before), state_number(connection, after))
    if states[0] == states[1]:
        raise BadInput(f"Both are state {states[0]}. Give two states to compare.")
    kafka = KafkaOffsets(broker.settings(kafka_config))
    try:
        if topic not in kafka.topics:
            raise BadInput(f"There is no topic {topic!r}.{nearest(topic, kafka.topics)}")
        spans = [kafka.range_of(topic, partition, None) for partition in kafka.topics[topic]]
    finally:
        kafka.close()
    share = -(-limit // len(spans))
    ranges = [
        (topic, span.partition, max(span.earliest, span.latest - share), span.latest)
        for span in spans
        if span.latest > span.earliest
    ]
    if not ranges:
        raise BadInput(f"There are no messages in topic {topic}.")
    comparison = _run(ranges, states, examples, kafka_config)
    if as_json:
        print_json(_plain(comparison, states, values))
    else:
        _show(comparison, states, values)


def _run(
    ranges: list[tuple[str, int, int, int]], states: tuple[int, ...], examples: int, config: str | None
) -> Comparison:
    # Only now: what is wrong with a command is reported without Spark.
    from metl.streams.client_options import read_kafka_options
    from metl_spark.reprocessing.job import map_at
    from metl_spark.reprocessing.settings import ReprocessSettings
    from metl_spark.runtime.control import jdbc
    from metl_spark.runtime.failures import explained
    from metl_spark.runtime.session import session

    settings = ReprocessSettings(
        topics="diff", job="diff", checkpoint="none", brokers=kafka_servers(),
        kafka_options=read_kafka_options(config, ()),
    )  # fmt: skip
    with connect(database_dsn()) as connection:
        reading = jdbc(connection)
    with explained(), session(settings, bulk=True) as spark:
        old, new = (outcomes(map_at(spark, settings, reading, state, ranges), settings.prefix) for state in states)
        return compare(old, new, examples)


def _show(comparison: Comparison, states: tuple[int, ...], values: bool) -> None:
    between = f"states {states[0]} and {states[1]}"
    click.echo(f"{comparison.differing:,} of {comparison.messages:,} messages differ between {between}.")
    if not comparison.counts:
        return
    shown = table("entity", "attribute", "change", "messages", "for example at")
    for difference, count in comparison.counts.most_common():
        examples = comparison.examples.get(difference, [])
        shown_at = ", ".join(
            f"{partition}:{offset}"
            + (f" {_short(before)} → {_short(after)}" if values and difference.attribute else "")
            for (_, partition, offset), before, after in examples
        )
        attribute = difference.attribute or "-"
        shown.add_row(escape(difference.entity), escape(attribute), difference.change, f"{count:,}", escape(shown_at))
    console.print(shown)


def _exact(value: Any) -> Any:
    """Numbers as text: other programs would round them."""
    return json.loads(json.dumps(value, default=str))


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _plain(comparison: Comparison, states: tuple[int, ...], values: bool) -> dict[str, Any]:
    return {
        "states": list(states),
        "messages": comparison.messages,
        "differing": comparison.differing,
        "differences": [
            {
                **vars(difference),
                "messages": count,
                "examples": [
                    {"topic": topic, "partition": partition, "offset": offset}
                    | ({"old": _exact(before), "new": _exact(after)} if values else {})
                    for (topic, partition, offset), before, after in comparison.examples.get(difference, [])
                ],
            }
            for difference, count in comparison.counts.most_common()
        ],
    }
