"""metl diff-replay: what two states make of real messages."""

import json
from decimal import Decimal
from typing import Any

import click
from rich.markup import escape

from metl.db.connection import address, connect, snapshot
from metl.errors import BadInput
from metl.streams import broker
from metl.streams.offsets import KafkaOffsets
from metl.streams.state_diff import Comparison, compare, outcomes
from metl.util.nearest import nearest
from metl.util.terminal import console, print_json, table


@click.command("diff-replay", short_help="Compare what two states make of messages.")
@click.option("--state", "states", type=int, multiple=True, required=True, help="Twice: the older and the newer one.")
@click.option("--topic", required=True, help="The topic whose messages are mapped.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="The last so many.")
@click.option("--examples", type=click.IntRange(0), default=3, show_default=True, help="For each difference.")
@click.option("--values", is_flag=True, help="Show the values in the examples, which are business data.")
@click.option("--kafka-config", envvar="METL_KAFKA_CONFIG", help="File of Kafka client properties.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def diff_replay(
    states: tuple[int, ...], topic: str, limit: int, examples: int, values: bool, kafka_config: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Map messages of a topic under two states and show what differs: nothing is sent.

    Trees, mappings, refs and how topics are read are all taken as they were in the states. The messages are the last
    ones of each partition.
    """
    if len(states) != 2 or states[0] == states[1]:
        raise BadInput("Give --state twice: the two states to compare.")
    with snapshot(address()) as connection:
        [(current,)] = connection.execute("select metl.current_state()").fetchall()
    for state in states:
        if not 0 <= state <= current:
            raise BadInput(f"There is no state {state}. The states are 0 to {current}.")
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
    found = _run(ranges, states, examples, kafka_config)
    if as_json:
        print_json(_plain(found, states, values))
    else:
        _show(found, states, values)


def _run(
    ranges: list[tuple[str, int, int, int]], states: tuple[int, ...], examples: int, config: str | None
) -> Comparison:
    # Only now: what is wrong with a command is said without Spark.
    from metl.streams.client_options import read_kafka_options
    from metl_spark.reprocessing.job import map_at
    from metl_spark.reprocessing.settings import ReprocessSettings
    from metl_spark.runtime.control import jdbc
    from metl_spark.runtime.failures import explained
    from metl_spark.runtime.session import session

    settings = ReprocessSettings(
        topics="diff-replay", job="diff-replay", checkpoint="none", brokers=broker.address(),
        kafka_options=read_kafka_options(config, ()),
    )  # fmt: skip
    with connect(address()) as connection:
        reading = jdbc(connection)
    with explained(), session(settings, bulk=True) as spark:
        old, new = (outcomes(map_at(spark, settings, reading, state, ranges), settings.prefix) for state in states)
        return compare(old, new, examples)


def _show(found: Comparison, states: tuple[int, ...], values: bool) -> None:
    click.echo(f"{found.differing:,} of {found.messages:,} messages differ between states {states[0]} and {states[1]}.")
    if not found.counts:
        return
    shown = table("entity", "attribute", "change", "messages", "for example at")
    for difference, count in found.counts.most_common():
        examples = found.examples.get(difference, [])
        said = ", ".join(
            f"{partition}:{offset}"
            + (f" {_short(before)} → {_short(after)}" if values and difference.attribute else "")
            for (_, partition, offset), before, after in examples
        )
        attribute = difference.attribute or "-"
        shown.add_row(escape(difference.entity), escape(attribute), difference.change, f"{count:,}", escape(said))
    console.print(shown)


def _exact(value: Any) -> Any:
    """Numbers as text: other programs would round them."""
    return json.loads(json.dumps(value, default=str))


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _plain(found: Comparison, states: tuple[int, ...], values: bool) -> dict[str, Any]:
    return {
        "states": list(states),
        "messages": found.messages,
        "differing": found.differing,
        "differences": [
            {
                **vars(difference),
                "messages": count,
                "examples": [
                    {"topic": topic, "partition": partition, "offset": offset}
                    | ({"old": _exact(before), "new": _exact(after)} if values else {})
                    for (topic, partition, offset), before, after in found.examples.get(difference, [])
                ],
            }
            for difference, count in found.counts.most_common()
        ],
    }
