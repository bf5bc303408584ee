"""Reading and writing Kafka topics in tests."""

import time
import uuid

from confluent_kafka import Consumer, Message, Producer


def read(kafka: str, topic: str, count: int, patience: float = 60) -> list[Message]:
    """The first `count` messages of a topic; fewer if they do not come in time."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 500,
            "allow.auto.create.topics": False,
        }
    )
    consumer.subscribe([topic])
    found: list[Message] = []
    end = time.monotonic() + patience
    try:
        while len(found) < count and time.monotonic() < end:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                found.append(message)
    finally:
        consumer.close()
    return found


def write(kafka: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0, "the broker did not take every message"
