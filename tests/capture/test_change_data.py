"""A row change travels from PostgreSQL through Debezium to Kafka, its schema to the registry."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from metl.util import http
from tests import topics
from tests.connectors import capturing
from tests.parts import Source


@dataclass
class Shop:
    """A captured table."""

    database: str
    topic: str

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture
def shop(parts: Source, registry: str, database: str) -> Iterator[Shop]:
    prefix = f"shop{uuid.uuid4().hex[:8]}"
    shop = Shop(database, f"{prefix}.public.customer")
    shop.execute("create table customer (id int primary key, name text, note text)")
    with capturing(parts, database, prefix, ["public.customer"]):
        yield shop


def test_a_row_change_arrives_with_its_registry_id(shop: Shop, kafka: str, registry: str) -> None:
    shop.execute("insert into customer values (1, 'Ada', null)")

    [message] = topics.read(kafka, shop.topic, 1)

    sent = value(message)
    assert sent["payload"]["after"] == {"id": 1, "name": "Ada", "note": None}
    assert fields_of(registry, sent["schemaId"]) == ["id", "name", "note"]


def test_an_alter_table_makes_version_2(shop: Shop, kafka: str, registry: str) -> None:
    shop.execute("insert into customer values (1, 'Ada', null)")
    # Otherwise the connector's snapshot might read the table only after it was altered.
    topics.read(kafka, shop.topic, 1)
    shop.execute("alter table customer add email text, drop note")
    shop.execute("insert into customer values (2, 'Bob', 'bob@example.org')")

    first, second = (value(message) for message in topics.read(kafka, shop.topic, 2))

    assert second["payload"]["after"] == {"id": 2, "name": "Bob", "email": "bob@example.org"}
    assert versions(registry, shop.topic) == {"1": first["schemaId"], "2": second["schemaId"]}
    assert fields_of(registry, second["schemaId"]) == ["id", "name", "email"]


def value(message: Any) -> Any:
    return json.loads(message.value())


def versions(registry: str, topic: str) -> dict[str, int]:
    answer = http.request("GET", f"{registry}/apis/registry/v3/groups/default/artifacts/{topic}-value/versions")
    return {version["version"]: version["globalId"] for version in answer["versions"]}


def fields_of(registry: str, global_id: int) -> list[str]:
    schema = http.request("GET", f"{registry}/apis/registry/v3/ids/globalIds/{global_id}")
    [after] = [field for field in schema["fields"] if field["field"] == "after"]
    return [field["field"] for field in after["fields"]]
