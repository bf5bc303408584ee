"""metl streams tail: what is in a topic."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any, cast

import click
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from rich.markup import escape

from metl.cli.options import json_option, kafka_config_option, limit_option
from metl.config import kafka_servers
from metl.errors import BadInput
from metl.streams import broker
from metl.util.nearest import nearest
from metl.util.terminal import console

TIMEOUT = 10.0


@click.command(short_help="Show the last messages of a topic.")
@click.argument("topic")
@limit_option(10, "so many of the last messages", least=0)
@click.option("-f", "--follow", is_flag=True, help="Go on as messages come, until Ctrl-C.")
@kafka_config_option
@json_option
def tail(topic: str, limit: int, follow: bool, kafka_config: str | None, as_json: bool) -> None:
    """Show the last messages of TOPIC: where each is, its headers, its key and its value. With --json, a line for each.

    \b
    metl streams tail cdm.person
    metl streams tail metl.dead -n 1 --json
    """
    with _consumer(kafka_config) as consumer, contextlib.suppress(KeyboardInterrupt):
        left = _assign(consumer, topic, limit)
        last = sorted(_next(consumer, left), key=lambda message: (message.timestamp()[1], message.offset()))
        for message in last[-limit:] if limit else []:
            _show(message, as_json)
        while follow:
            for message in _next(consumer, 1):
                _show(message, as_json)


@contextlib.contextmanager
def _consumer(config: str | None) -> Iterator[Consumer]:
    settings = broker.settings(config, **{"group.id": "metl-tail", "enable.auto.commit": False})
    consumer: Consumer = broker.create_client(Consumer, settings)
    try:
        yield consumer
    except KafkaException as error:
        raise broker.unreachable(kafka_servers(), error.args[0].str()) from None
    finally:
        consumer.close()


def _assign(consumer: Consumer, topic: str, limit: int) -> int:
    """So that the last messages of each partition come first; how many that are."""
    topics = consumer.list_topics(timeout=TIMEOUT).topics
    if topic not in topics:
        raise BadInput(f"There is no topic {topic!r}.{nearest(topic, [name for name in topics if name[0] != '_'])}")
    begins, count = [], 0
    for partition in topics[topic].partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT)
        begins.append(TopicPartition(topic, partition, max(low, high - limit)))
        count += high - begins[-1].offset
    consumer.assign(begins)
    return count


def _next(consumer: Consumer, count: int) -> list[Message]:
    """So many, or fewer if no message comes for a second: offsets may have holes."""
    messages: list[Message] = []
    while len(messages) < count:
        batch = consumer.consume(count - len(messages), 1.0)
        if not batch:
            break
        for message in batch:
            if error := message.error():
                raise KafkaException(error)
            messages.append(message)
    return messages


def _show(message: Message, as_json: bool) -> None:
    headers = {name: _text(value) for name, value in cast("list[tuple[str, bytes | None]]", message.headers() or [])}
    key, value = _text(message.key()), _text(message.value())
    if as_json:
        place = {"partition": message.partition(), "offset": message.offset()}
        click.echo(json.dumps({**place, "headers": headers, "key": key, "value": value}, ensure_ascii=False))
        return
    shown = " ".join(f"{name}={value}" for name, value in headers.items())
    console.print(f"[bold]{message.partition()}:{message.offset()}[/bold] [dim]{escape(shown)}[/dim]", soft_wrap=True)
    console.print(f"  {escape(str(key))}\n  {escape(str(value))}", soft_wrap=True)


def _text(given: Any) -> str | None:
    return given.decode(errors="backslashreplace") if isinstance(given, bytes) else given
