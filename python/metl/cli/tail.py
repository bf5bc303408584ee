"""metl tail: what is in a topic."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any, cast

import click
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from rich.markup import escape

from metl.errors import BadInput
from metl.streams import broker
from metl.util.nearest import nearest
from metl.util.terminal import console

TIMEOUT = 10.0


@click.command(short_help="Show the last messages of a topic.")
@click.argument("topic")
@click.option(
    "-n", "--number", type=click.IntRange(min=0), default=10, show_default=True, help="How many of the last messages."
)
@click.option("-f", "--follow", is_flag=True, help="Go on as messages come, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="For programs: a line of JSON for each message.")
def tail(topic: str, number: int, follow: bool, as_json: bool) -> None:
    """Show the last messages of TOPIC: where each is, its headers, its key and its value.

    \b
    metl tail cdm.person
    """
    with _consumer(broker.address()) as consumer, contextlib.suppress(KeyboardInterrupt):
        left = _assign(consumer, topic, number)
        last = sorted(_next(consumer, left), key=lambda message: (message.timestamp()[1], message.offset()))
        for message in last[-number:] if number else []:
            _show(message, as_json)
        while follow:
            for message in _next(consumer, 1):
                _show(message, as_json)


@contextlib.contextmanager
def _consumer(address: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "metl-tail", "enable.auto.commit": False})
    try:
        yield consumer
    except KafkaException as error:
        raise broker.unreachable(address, error.args[0].str()) from None
    finally:
        consumer.close()


def _assign(consumer: Consumer, topic: str, number: int) -> int:
    """So that the last messages of each partition come first; how many that are."""
    known = consumer.list_topics(timeout=TIMEOUT).topics
    if topic not in known:
        raise BadInput(f"There is no topic {topic!r}.{nearest(topic, [name for name in known if name[0] != '_'])}")
    begins, count = [], 0
    for partition in known[topic].partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT)
        begins.append(TopicPartition(topic, partition, max(low, high - number)))
        count += high - begins[-1].offset
    consumer.assign(begins)
    return count


def _next(consumer: Consumer, number: int) -> list[Message]:
    """As many, unless Kafka is silent for a while: offsets may have holes."""
    found: list[Message] = []
    while len(found) < number:
        heard = consumer.consume(number - len(found), 1.0)
        if not heard:
            break
        for message in heard:
            if error := message.error():
                raise KafkaException(error)
            found.append(message)
    return found


def _show(message: Message, as_json: bool) -> None:
    headers = {name: _text(value) for name, value in cast("list[tuple[str, bytes | None]]", message.headers() or [])}
    key, value = _text(message.key()), _text(message.value())
    if as_json:
        place = {"partition": message.partition(), "offset": message.offset()}
        click.echo(json.dumps({**place, "headers": headers, "key": key, "value": value}, ensure_ascii=False))
        return
    said = " ".join(f"{name}={value}" for name, value in headers.items())
    console.print(f"[bold]{message.partition()}:{message.offset()}[/bold] [dim]{escape(said)}[/dim]", soft_wrap=True)
    console.print(f"  {escape(str(key))}\n  {escape(str(value))}", soft_wrap=True)


def _text(given: Any) -> str | None:
    return given.decode(errors="backslashreplace") if isinstance(given, bytes) else given
