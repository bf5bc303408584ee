"""What the live mapper makes of real rows of Debezium, whatever their types, is as the published schemas say."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import psycopg
import pytest
import yaml
from pyspark.sql import SparkSession

from metl.util import http
from tests import topics
from tests.conftest import Marts
from tests.connectors import capturing
from tests.live.conftest import session as session
from tests.live.job import run
from tests.live.running import Place, job_role, read
from tests.model.conftest import Model, model_in
from tests.parts import Source

# It pays for Debezium and Spark.
pytestmark = pytest.mark.timeout(600)

COLUMNS = {
    "small": ("int2", ["-32768", "0"]),
    "large": ("int8", ["9223372036854775807", "-1"]),
    "exact": ("numeric(20, 5)", ["123456789012345.12345", "-0.1"]),
    "any_scale": ("numeric", ["'NaN'", "1e-40"]),
    "price": ("money", ["12.5", "-1"]),
    "rough": ("float4", ["'NaN'", "1.5"]),
    "rougher": ("float8", ["'-Infinity'", "1e300"]),
    "truth": ("boolean", ["true", "false"]),
    "words": ("text", ["'Zoë \"quoted\" \\ \n'", "''"]),
    "fixed": ("char(3)", ["'a'", "'abc'"]),
    "mood": ("mood", ["'happy'", "'sad'"]),
    "place": ("inet", ["'10.0.0.1/8'", "'::1'"]),
    "blob": ("bytea", [r"'\x00ff'", r"'\x'"]),
    "flags": ("bit(5)", ["B'10101'", "B'00000'"]),
    "flag": ("bit(1)", ["B'1'", "B'0'"]),
    "day": ("date", ["'2024-02-29'", "'0044-03-15 BC'"]),
    "clock": ("time", ["'23:59:59.999999'", "'00:00'"]),
    "zoned_clock": ("timetz", ["'23:59:59.999999+02'", "'00:00Z'"]),
    "moment": ("timestamp", ["'2024-02-29 12:00:00.123456'", "'infinity'"]),
    "second": ("timestamp(3)", ["'2024-02-29 12:00:00.123'", "'1969-12-31 23:59:59'"]),
    "zoned": ("timestamptz", ["'2024-02-29 12:00:00.123456+05'", "'-infinity'"]),
    "span": ("interval", ["'1 year 2 days 3 hours'", "'-1 second'"]),
    "key": ("uuid", ["'00000000-0000-0000-0000-000000000001'", "gen_random_uuid()"]),
    "document": ("json", ["'{\"a\": [1, null]}'", "'5'"]),
    "binary_document": ("jsonb", ["'{\"a\": 1e400}'", "'\"text\"'"]),
    "list": ("int[]", ["'{1,null,3}'", "'{}'"]),
    "words_list": ("text[]", ["'{a,\"b,c\"}'", "'{}'"]),
    "spot": ("point", ["'(1.5,-2)'", "'(0,0)'"]),
}


@pytest.fixture(scope="module")
def model(postgres: str, marts: Marts, registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with model_in(postgres, marts.database, tmp_path_factory.mktemp("model")) as made:
        yield replace(made, registry=registry)


@pytest.fixture(scope="module")
def topic(parts: Source, kafka: str, model: Model) -> Iterator[str]:
    """Every kind of value, inserted, updated and deleted, some of it also as null."""
    prefix = f"kinds{uuid.uuid4().hex[:8]}"
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    first, second = (", ".join(values[place] for _, values in COLUMNS.values()) for place in (0, 1))
    with psycopg.connect(model.owner, autocommit=True) as service:
        service.execute("create type mood as enum ('happy', 'sad')")
        service.execute(f"create table kinds (id int primary key, {columns})".encode())
        service.execute("alter table kinds replica identity full")
        service.execute(f"insert into kinds values (1, {first})".encode())
        made = f"{prefix}.public.kinds"
        with capturing(parts, model.owner, prefix, ["public.kinds"]):
            # Read by the snapshot; what follows comes from the log.
            assert len(topics.read(kafka, made, 1)) == 1
            service.execute(f"insert into kinds values (2, {second})".encode())
            service.execute("insert into kinds values (3)")
            service.execute("update kinds set id = 4, words = null where id = 3")
            service.execute("update kinds set small = 7 where id = 1")
            service.execute("delete from kinds where id = 2")
            yield made


def test_every_mapped_message_is_as_the_published_schema_says(
    topic: str, model: Model, marts: Marts, registry: str, kafka: str, session: SparkSession, tmp_path: Path
) -> None:
    # Read, 2 created, moved (deleted, tombstone, created), updated, deleted and its tombstone.
    messages = topics.read(kafka, topic, 9)
    version = json.loads(messages[0].value() or b"")["schemaId"]
    entity = f"kind{uuid.uuid4().hex[:8]}"
    types = add_schema_version(model, registry, topic, version)
    described = [{"name": f"the {name}", "type": kind, "description": f"Of {name}"} for name, kind in types.items()]
    model.said("entities", "apply", model.file(yaml.safe_dump({"entity": entity, "attributes": described})))
    lines = [f"{topic},1,{name},{entity},1,the {name}" for name in types]
    header = "schema,version,attribute,entity,entity_version,entity_attribute"
    model.said("matrix", "import", "-", stdin="\n".join([header, *lines]))

    with job_role(model.owner, "metl_job") as job_dsn:
        place = Place(model.owner, job_dsn, kafka, tmp_path, marts)
        place.build_marts()
        run(session, place, topic)
    records = read(kafka, lambda name: name == f"{place.prefix}{entity}")

    schema = artifact(registry, entity)
    validator = jsonschema.Draft7Validator(schema)
    validate = validator.iter_errors
    jsonschema.Draft7Validator.check_schema(schema)
    values = [record.said for record in records if record.value is not None]
    assert [value["op"] for value in values] == ["r", "c", "c", "d", "c", "u", "d"]
    complaints = [(value["op"], error.json_path, error.message) for value in values for error in validate(value)]
    assert complaints == []
    everything = values[0]["after"]
    assert everything.keys() == {f"the {name}" for name in types}
    # And it is worth something: another type, another attribute or another entity would not do.
    for spoilt in (
        {**values[0], "entity": "other"},
        {**values[0], "op": "x"},
        {**values[0], "after": {**everything, "unknown": 1}},
        *({**values[0], "after": {**everything, f"the {name}": None}} for name in types),
        {**values[0], "after": {**everything, "the truth": "true"}},
    ):
        assert not validator.is_valid(spoilt)


def add_schema_version(model: Model, registry: str, topic: str, global_id: int) -> dict[str, str]:
    """As Debezium describes the table; the generalized type of each column."""
    schema = http.request("GET", f"{registry}/apis/registry/v3/ids/globalIds/{global_id}")
    [after] = [field for field in schema["fields"] if field["field"] == "after"]
    columns = [{"name": field["field"], "type": field.get("name") or field["type"]} for field in after["fields"]]
    model.call("add_schema_version", topic, 1, columns, {"global_id": global_id})
    return dict(
        model.rows("select attribute, type from metl.schema_attributes where schema = %s order by position", topic)
    )


def artifact(registry: str, entity: str) -> Any:
    where = f"{registry}/apis/registry/v3/groups/metl.cdm/artifacts/cdm.{entity}-value/versions/1/content"
    return http.request("GET", where)
