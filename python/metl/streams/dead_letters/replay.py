"""Produces dead letters to the replay topic: original bytes and headers, and the position of the failed message."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from metl.errors import MetlError
from metl.streams import broker
from metl.streams.dead_letters.record import decode_header

TIMEOUT = 60.0
BATCH = 500


class Sender:
    """A producer to one replay topic, which it creates if needed."""

    def __init__(self, settings: dict[str, Any], topic: str) -> None:
        self.topic = topic
        broker.create_topic(settings, topic)
        options = {"message.max.bytes": broker.MAX_MESSAGE_BYTES, "enable.idempotence": True, "linger.ms": 5}
        self._producer: Producer = broker.create_client(Producer, settings | options)

    def send(self, letters: Iterable[dict[str, Any]]) -> int:
        """Returns when Kafka has acknowledged all of them; raises if it rejects one."""
        batch = list(letters)
        failures: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _record: Message) -> None:
            if error is not None:
                failures.append(error)

        for letter in batch:
            self._producer.produce(
                self.topic, letter["value"], letter["key"], headers=_headers(letter), on_delivery=on_delivery
            )
            self._producer.poll(0)
        unacknowledged = self._producer.flush(TIMEOUT)
        if failures or unacknowledged:
            reason = failures[0].str() if failures else f"it did not answer in {TIMEOUT:.0f} s"
            raise MetlError(
                f"Kafka did not take {len(failures) + unacknowledged} of {len(batch)} dead letters in {self.topic}: "
                f"{reason}."
            )
        return len(batch)


def _headers(letter: dict[str, Any]) -> list[tuple[str, str | bytes | None]]:
    own = {
        "__connect.errors.topic": letter["topic"],
        "__connect.errors.partition": letter["partition"],
        "__connect.errors.offset": letter["message_offset"],
        "__metl.replay.count": letter["replays"],
    }
    if letter["message_at"] is not None:
        own["__metl.timestamp"] = round(letter["message_at"].timestamp() * 1000)
    return [*map(decode_header, letter["headers"]), *((name, str(value).encode()) for name, value in own.items())]
