"""A backlog of Debezium messages in Kafka, and the matrix that maps each of them to two entities."""

import json

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metl.home import Home
from metl.marts import dbt

TOPIC = "shop.public.customer"
PARTITIONS = 2
VERSIONS = 10
PERSON = {"pid": "id", "pname": "name", "pemail": "email", "pcity": "city", "pbalance": "balance", "seen": "seen"}
PLACE = {"city": "city", "street": "street", "zip": "zip"}
ENTITIES = {"person": PERSON, "place": PLACE}
TYPES = {"id": "int64", "balance": "decimal", "seen": "io.debezium.time.MicroTimestamp"}
ENTITY_TYPES = {"pid": "integer", "pbalance": "decimal", "seen": "timestamp"}


def message(number: int) -> bytes:
    """About 330 bytes."""
    return (
        f'{{"schemaId":{1 + number % VERSIONS},"payload":{{"before":null,"after":{{"id":{number},'
        f'"name":"customer {number}","email":"c{number}@example.com","city":"Berlin","street":null,"zip":"10115",'
        f'"balance":"12.50","seen":{1_700_000_000_000_000 + number}}},"source":{{"version":"3.6.1.Final",'
        f'"connector":"postgresql","name":"shop","table":"customer","lsn":{number * 8}}},"op":"c",'
        f'"ts_ms":{1_700_000_000_000 + number}}}}}'
    ).encode()


def make_topics(kafka: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS) for topic in topics]).values():
        future.result()


def fill_topic(kafka: str, count: int) -> None:
    make_topics(kafka, TOPIC)
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for number in range(count):
        producer.produce(TOPIC, message(number), f'{{"id":{number}}}', partition=number % PARTITIONS)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(120)


def fill_matrix(dsn: str, home: Home) -> None:
    attributes = [*dict.fromkeys((*PERSON.values(), *PLACE.values()))]
    with psycopg.connect(dsn, autocommit=True) as connection:
        for entity, mapping in ENTITIES.items():
            typed = [{"name": name, "type": ENTITY_TYPES.get(name, "string")} for name in mapping]
            connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, json.dumps(typed)])
        typed = [{"name": name, "type": TYPES.get(name, "string")} for name in attributes]
        for version in range(1, VERSIONS + 1):
            refs = json.dumps({"global_id": [str(version)]})
            connection.execute(
                "select metl.add_schema_version(%s, %s, %s, %s)", [TOPIC, version, json.dumps(typed), refs]
            )
            if version == 1:
                for entity, mapping in ENTITIES.items():
                    connection.execute("select metl.set_block(%s, 1, %s, 1, %s)", [TOPIC, entity, json.dumps(mapping)])
    done = dbt.run(home, dsn, ["run", "--select", "+dcpm"], quiet=True)
    if done.returncode:
        raise SystemExit(done.stdout)


def count_records(kafka: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "count"})
    try:
        ends = (consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=30)[1] for n in range(PARTITIONS))
        return sum(map(int, ends))
    finally:
        consumer.close()
