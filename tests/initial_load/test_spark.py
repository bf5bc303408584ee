"""Initial loads that Spark runs."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from metl.warehouse.dialects import Source
from metl.warehouse.initial_load import Feed, statement
from tests.initial_load.example import (
    AWKWARD,
    COMMON,
    SESSION_ZONE,
    Case,
    assert_expected,
    feed_of,
    rows_of,
    timestamps,
)

LONGEST = Decimal("12345678901234567890123456789012345678")
CASES = [
    *COMMON,
    *timestamps("timestamp_ntz", "timestamp"),
    Case(f"cast('{LONGEST}' as decimal(38, 0))", "numeric", "decimal", "decimal", LONGEST),
    Case("cast(0.1234567890123456 as double)", "float8", "float", "float", 0.1234567890123456),
    Case("x'0102'", "bytea", "bytes", "bytes", b"\x01\x02"),
    Case("'10:11:12.123456'", "time", "time", "time", "10:11:12.123456"),
    Case("'8a3d7a57'", "uuid", "uuid", "uuid", "8a3d7a57"),
    Case("""'{"a": [1]}'""", "json", "json", "json", '{"a": [1]}'),
    Case("array(1, 2)", "array", "array", "array", [1, 2]),
    Case("map('a', 1)", "map", "object", "object", {"a": 1}),
]


@pytest.fixture
def elsewhere(spark: SparkSession) -> Iterator[SparkSession]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    spark.conf.set("spark.sql.session.timeZone", SESSION_ZONE)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", zone)


def run(spark: SparkSession, query: str) -> DataFrame:
    return spark.sql(query.rstrip(";"))


def rows(result: DataFrame) -> Sequence[Sequence[object]]:
    """Collects timestamps as epoch microseconds: PySpark would convert them to the zone of this machine."""
    names = [str(number) for number in range(len(result.columns))]
    plain = result.toDF(*names)
    are_timestamps = [kind == "timestamp" for _, kind in plain.dtypes]
    as_numbers = plain.select(
        *(f.unix_micros(name) if is_one else f.col(name) for name, is_one in zip(names, are_timestamps, strict=True))
    )
    return [
        [
            datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value) if is_one and value is not None else value
            for value, is_one in zip(row, are_timestamps, strict=True)
        ]
        for row in as_numbers.collect()
    ]


def test_values_become_those_of_the_entity_in_the_same_columns(elsewhere: SparkSession) -> None:
    elsewhere.sql(f"create or replace temporary view source as {rows_of(CASES, quote='`')}")
    mapped = feed_of(CASES, "source")
    unmapped = Feed("source", 2, "entity", 1, mapped.types, {})
    results = [run(elsewhere, statement(feed, "spark")) for feed in (mapped, unmapped)]
    both = rows(results[0].unionAll(results[1]))
    assert_expected(CASES, both[:2])
    assert both[2:] == [[None] * len(CASES)] * 2


def test_awkward_names(spark: SparkSession) -> None:
    # A data frame takes names as they are, without quotes.
    spark.createDataFrame([tuple(AWKWARD)], AWKWARD).createOrReplaceTempView("awkward")
    attributes = AWKWARD[::-1]
    sources = {
        attribute: Source(column, "string", "string") for attribute, column in zip(attributes, AWKWARD, strict=True)
    }
    feed = Feed("awkward", 1, "entity", 1, dict.fromkeys(attributes, "string"), sources)
    result = run(spark, statement(feed, "spark"))
    assert result.columns == attributes
    assert [tuple(row) for row in result.collect()] == [tuple(AWKWARD)]
