"""Tables of the warehouse as Parquet: nothing is rounded, and what was there before stays until all is written."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from pyspark.sql import SparkSession

from metl_spark.runtime.control import jdbc
from metl_spark.warehouse.parquet import write_parquet
from tests.warehouse.staging import Staged, merge, start

ATTRIBUTES = {
    "number": "integer", "small": "decimal", "huge": "decimal", "odd": "decimal", "seen": "timestamp",
    "forever": "timestamp", "clock": "time", "what": "json", "raw": "bytes",
}  # fmt: skip
VALUES: dict[int, dict[str, Any]] = {
    1: {"small": "1.10", "huge": "1" * 50, "odd": "1", "seen": "2026-01-31T12:00:00.000001Z", "clock": "23:59:59.5"},
    2: {"small": "-2.345", "odd": "NaN", "forever": "infinity", "what": {"a": [1]}, "raw": "aGk="},
}


@pytest.fixture
def filled(database: str) -> Iterator[psycopg.Connection]:
    entity = [{"name": name, "type": type_} for name, type_ in ATTRIBUTES.items()]
    schema = [{"name": name, "type": "string" if type_ == "timestamp" else type_} for name, type_ in ATTRIBUTES.items()]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("select metl.add_schema_version('s', 1, %s)", [json.dumps(schema)])
        connection.execute("select metl.add_entity_version('thing', 1, %s)", [json.dumps(entity)])
        mapping = json.dumps({name: name for name in ATTRIBUTES})
        [(state,)] = connection.execute("select metl.set_block('s', 1, 'thing', 1, %s)", [mapping]).fetchall()
        start(connection)
        records = [
            Staged("thing", "s", f'{{"id":{number}}}', 0, number, number, "c", {"number": number, **values}, state)
            for number, values in VALUES.items()
        ]
        assert merge(connection, [*records, Staged("thing", "s", '{"id":3}', 0, 9, 9, "d", None, state)]) == 0
        yield connection


def rows(folder: Path) -> dict[int, dict[str, Any]]:
    found = duckdb.execute("select * from read_parquet(?)", [str(folder / "thing" / "*.parquet")])
    names = [column[0] for column in found.description or []]
    rows = (dict(zip(names, row, strict=True)) for row in found.fetchall())
    return {row["number"]: row for row in rows}


def test_every_value_is_what_it_was(filled: psycopg.Connection, spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        written = list(write_parquet(spark, filled, jdbc(filled), ".*", str(tmp_path)))
        assert written == [(f"{tmp_path}/thing", 2)]
    assert [each.name for each in tmp_path.iterdir()] == ["thing"], "nothing else is left"
    first, second = rows(tmp_path)[1], rows(tmp_path)[2]
    assert (first["small"], second["small"]) == (Decimal("1.10"), Decimal("-2.345"))
    assert (first["huge"], first["odd"], second["odd"]) == ("1" * 50, "1", "NaN"), "as text"
    assert first["seen"] == datetime(2026, 1, 31, 12, 0, 0, 1, UTC)
    assert (first["forever"], second["forever"]) == (None, "infinity")
    assert (first["clock"], second["what"], second["raw"]) == ("23:59:59.5", '{"a": [1]}', b"hi")
    assert (first["_source"], first["_key"]) == ("s", '{"id": 1}')


def test_only_what_is_wanted(filled: psycopg.Connection, spark: SparkSession, tmp_path: Path) -> None:
    assert list(write_parquet(spark, filled, jdbc(filled), "other", str(tmp_path))) == []
