"""Steady traffic of Debezium messages, and their end-to-end latency."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

TOPIC = "shop.public.customer"
SENT = re.compile(rb'"sent": ?(\d+)')


def message(number: int, global_id: int) -> bytes:
    """About 330 bytes; `sent` is the time in nanoseconds."""
    return (
        f'{{"schemaId":{global_id},"payload":{{"before":null,"after":{{"id":{number},"name":"customer {number}",'
        f'"email":"c{number}@example.com","city":"Berlin","street":null,"zip":"10115","balance":"12.50",'
        f'"sent":{time.time_ns()}}},"source":{{"version":"3.6.1.Final","connector":"postgresql","name":"shop",'
        f'"table":"customer","lsn":{number * 8}}},"op":"c","ts_ms":{time.time_ns() // 10**6}}}}}'
    ).encode()


def make_topics(kafka: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka})
    for future in admin.create_topics([NewTopic(topic, 1) for topic in topics]).values():
        future.result()


def produce(kafka: str, topic: str, rate: int, seconds: float, global_ids: int = 1) -> None:
    """At an even rate."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000})
    number, began = 0, time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        due = int(elapsed * rate)
        while number < due:
            producer.produce(topic, message(number, 1 + number % global_ids), key=f'{{"id":{number}}}')
            number += 1
        producer.poll(0)
        time.sleep(0.0005)
    producer.flush(60)


@dataclass
class Arrival:
    sent: float
    latency_ms: float


@contextmanager
def meter(kafka: str, topic: str) -> Iterator[list[Arrival]]:
    """Collects arrivals at a topic in the background."""
    arrivals: list[Arrival] = []
    stop = threading.Event()

    def listen() -> None:
        consumer = Consumer(
            {"bootstrap.servers": kafka, "group.id": "meter", "fetch.wait.max.ms": 10, "enable.auto.commit": False}
        )
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
        consumer.assign([TopicPartition(topic, 0, end)])
        while not stop.is_set():
            # One at a time: consume() would wait for a full batch, which adds latency.
            record = consumer.poll(0.05)
            if record is not None and record.error() is None and (sent := SENT.search(record.value() or b"")):
                at = int(sent[1])
                arrivals.append(Arrival(at / 1e9, (time.time_ns() - at) / 1e6))
        consumer.close()

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield arrivals
    finally:
        stop.set()
        thread.join()


def end_offset(kafka: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "meter"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()
