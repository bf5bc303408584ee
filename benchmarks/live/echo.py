"""A baseline: a loop that reads each message and writes it to another topic."""

import sys

from confluent_kafka import Consumer, Producer


def main(kafka: str, source: str, target: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka,
            "group.id": f"echo-{source}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
    )
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    consumer.subscribe([source])
    while True:
        record = consumer.poll(0.1)
        if record is not None and record.error() is None:
            producer.produce(target, record.value(), key=record.key())
        producer.poll(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
