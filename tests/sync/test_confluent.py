"""Registries that speak Confluent's API: here the one that Apicurio offers beside its own."""

import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from metl.util import http
from tests.sync.artifacts import Matrix
from tests.sync.proxy import Proxy

ADDRESS = {"type": "record", "name": "Address", "namespace": "shop", "fields": [{"name": "street", "type": "string"}]}


class Subjects:
    """Some of a context that all tests share, told apart by their names."""

    def __init__(self, registry: str) -> None:
        self.address = f"{registry}/apis/ccompat/v7"
        self.prefix = f"cf{uuid.uuid4().hex[:8]}"
        self.made: list[str] = []

    def add(self, name: str, schema: Any, **others: Any) -> int:
        subject = f"{self.prefix}.{name}-value"
        self.made.append(subject)
        body = {"schema": json.dumps(schema), **others}
        return int(http.request("POST", f"{self.address}/subjects/{subject}/versions", body, timeout=30)["id"])

    def delete(self, name: str, version: str = "") -> None:
        path = f"/versions/{version}" if version else ""
        http.request("DELETE", f"{self.address}/subjects/{self.prefix}.{name}-value{path}", timeout=30)


@pytest.fixture
def subjects(registry: str) -> Iterator[Subjects]:
    made = Subjects(registry)
    yield made
    # What refers to others goes first.
    for subject in dict.fromkeys(reversed(made.made)):
        for permanent in ("false", "true"):
            http.request("DELETE", f"{made.address}/subjects/{subject}?permanent={permanent}", timeout=30)


@pytest.fixture
def confluent(database: str, subjects: Subjects) -> Matrix:
    return Matrix(database, subjects.address)


def mine(confluent: Matrix, subjects: Subjects, *words: str) -> list[tuple[Any, ...]]:
    """Others may have left something there that cannot be read."""
    said = confluent.invoke("--registry-type", "confluent", "--json", *words).stdout.splitlines()
    events = [json.loads(line) for line in said]
    return [
        (each["event"], each["schema"].removeprefix(f"{subjects.prefix}."), each["version"])
        for each in events
        if each["schema"].startswith(subjects.prefix)
    ]


def event(*names: str) -> dict[str, Any]:
    return {"type": "record", "name": "Event", "fields": [{"name": name, "type": "int"} for name in names]}


def test_subjects_come_with_their_ids_and_go(subjects: Subjects, confluent: Matrix) -> None:
    first = subjects.add("order", event("a"))
    second = subjects.add("order", event("a", "b"), schemaType="AVRO")
    subjects.add("person", {"type": "object", "properties": {"x": {"type": "integer"}}}, schemaType="JSON")

    came = mine(confluent, subjects)

    assert sorted(came) == [("registered", "order", 1), ("registered", "order", 2), ("registered", "person", 1)]
    refs = confluent.rows(
        "select version, kind, ref from metl.schema_refs where schema = %s order by 1", f"{subjects.prefix}.order"
    )
    assert refs == [(1, "confluent_id", str(first)), (2, "confluent_id", str(second))]
    assert mine(confluent, subjects) == []

    subjects.add("order", event("c"))
    subjects.delete("order", "1")
    assert sorted(mine(confluent, subjects)) == [("deleted", "order", 1), ("registered", "order", 3)]


def test_what_a_subject_refers_to_is_read_too(subjects: Subjects, confluent: Matrix) -> None:
    subjects.add("address", ADDRESS)
    order = {"type": "record", "name": "Order", "fields": [{"name": "to", "type": "shop.Address"}]}
    reference = {"name": "shop.Address", "subject": f"{subjects.prefix}.address-value", "version": 1}
    subjects.add("order", order, references=[reference])
    assert len(mine(confluent, subjects)) == 2
    types = confluent.rows("select source_type from metl.schema_attributes where schema like '%%.order'")
    assert types == [("record",)]


class Gateway(Proxy):
    """The same registry, but /schemas says as much as Confluent's own does: subject, version and id of each."""

    def instead(self, path: str) -> object:
        url = urlsplit(path)
        if not url.path.endswith("/v7/schemas"):
            return None
        api = f"{self.registry}/apis/ccompat/v7/subjects"
        asked = {name: int(value) for name, value in parse_qsl(url.query)}
        listed = [
            http.request("GET", f"{api}/{subject}/versions/{version}", timeout=30)
            for subject in sorted(http.request("GET", api, timeout=30))
            for version in http.request("GET", f"{api}/{subject}/versions", timeout=30)
        ]
        return listed[asked["offset"] : asked["offset"] + asked["limit"]]


def test_all_subjects_are_listed_with_one_request(registry: str, subjects: Subjects, confluent: Matrix) -> None:
    ids = [subjects.add("order", event("a")), subjects.add("order", event("a", "b"))]
    between = Gateway(registry)
    between.start()
    try:
        confluent.registry = f"{between.address}/apis/ccompat/v7"
        assert mine(confluent, subjects) == [("registered", "order", 1), ("registered", "order", 2)]
        known = confluent.rows(
            "select confluent_id, artifact_type from metl.registry_versions where artifact like %s order by version",
            f"{subjects.prefix}%",
        )
        assert known == [(each, "AVRO") for each in ids]
        between.paths.clear()
        assert mine(confluent, subjects) == []
        assert [urlsplit(path).path for path in between.paths] == ["/apis/ccompat/v7/schemas"]
        subjects.delete("order", "1")
        assert mine(confluent, subjects) == [("deleted", "order", 1)]
    finally:
        between.stop()
