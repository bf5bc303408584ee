"""Sends letters again, with their own bytes and headers and where they are from."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from metl.errors import MetlError
from metl.streams import broker
from metl.streams.dead_letters.record import original

TIMEOUT = 60.0
BATCH = 500


class Sender:
    """To one topic of replays, which it makes."""

    def __init__(self, settings: dict[str, Any], topic: str) -> None:
        self.topic = topic
        broker.make_topic(settings, topic)
        wanted = {"message.max.bytes": broker.LARGEST, "enable.idempotence": True, "linger.ms": 5}
        self._producer: Producer = broker.made(Producer, settings | wanted)

    def send(self, letters: Iterable[dict[str, Any]]) -> int:
        """Returns when Kafka has all of them; raises if it does not take one."""
        failures: list[KafkaError] = []
        given = list(letters)

        def delivered(error: KafkaError | None, _record: Message) -> None:
            if error is not None:
                failures.append(error)

        for letter in given:
            self._producer.produce(
                self.topic, letter["value"], letter["key"], headers=_headers(letter), on_delivery=delivered
            )
            self._producer.poll(0)
        left = self._producer.flush(TIMEOUT)
        if failures or left:
            why = failures[0].str() if failures else f"it did not answer in {TIMEOUT:.0f} s"
            raise MetlError(
                f"Kafka did not take {len(failures) + left} of {len(given)} letters in {self.topic}: {why}."
            )
        return len(given)


def _headers(letter: dict[str, Any]) -> list[tuple[str, str | bytes | None]]:
    ours = {
        "__connect.errors.topic": letter["topic"],
        "__connect.errors.partition": letter["partition"],
        "__connect.errors.offset": letter["message_offset"],
        "__metl.replay.count": letter["replays"],
    }
    if letter["message_at"] is not None:
        ours["__metl.timestamp"] = round(letter["message_at"].timestamp() * 1000)
    return [*map(original, letter["headers"]), *((name, str(value).encode()) for name, value in ours.items())]
