"""A mapper survives any record in the replay topic."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from confluent_kafka import Message
from pyspark.sql import Row, SparkSession

from metl.streams.dead_letters.record import to_dead_letter
from metl_spark.mapping.restore import restore

pytestmark = pytest.mark.timeout(300)

REPLAYS = "metl.replay"
NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key:string,value:binary>>"
)
HEADERS = {
    "__connect.errors.topic": "shop.a",
    "__connect.errors.partition": "3",
    "__connect.errors.offset": "17",
    "__metl.timestamp": "1000",
    "__metl.replay.count": "2",
}


def restored(session: SparkSession, errors: dict[str, str]) -> Row:
    headers = [(name, value.encode()) for name, value in errors.items()]
    rows: list[tuple[Any, ...]] = [(b"1", b"{}", REPLAYS, 0, 5, NOW, headers)]
    [row] = restore(session.createDataFrame(rows, COLUMNS), REPLAYS, r"^(?:shop\..*)$").collect()
    return row


def position(row: Row) -> tuple[str, int, int, int | None]:
    return row["topic"], row["partition"], row["offset"], row["replays"]


def test_a_replay_has_the_position_of_its_message(session: SparkSession) -> None:
    row = restored(session, HEADERS)
    assert position(row) == ("shop.a", 3, 17, 2)
    assert row["timestamp"] == datetime.fromtimestamp(1) and row["headers"] is None


@pytest.mark.parametrize("value", ["2147483648", "999999999999999999", "99999999999999999999", "-1", "one", ""])
@pytest.mark.parametrize("name", ["partition", "offset"])
def test_without_a_valid_position_the_replays_own_counts(session: SparkSession, name: str, value: str) -> None:
    headers = HEADERS | {f"__connect.errors.{name}": value}
    is_an_offset = name == "offset" and value in ("2147483648", "999999999999999999")
    expected = ("shop.a", 3, int(value), 2) if is_an_offset else (REPLAYS, 0, 5, None)
    assert position(restored(session, headers)) == expected


@pytest.mark.parametrize("value", ["9223372036854776", "999999999999999999", "-5", "yesterday"])
def test_without_a_valid_timestamp_the_replays_own_counts(session: SparkSession, value: str) -> None:
    row = restored(session, HEADERS | {"__metl.timestamp": value, "__metl.replay.count": value})
    assert position(row) == ("shop.a", 3, 17, 1)
    assert row["timestamp"].timestamp() == NOW.timestamp()


@dataclass
class KafkaRecord:
    """With the methods of a confluent_kafka.Message."""

    time: int

    def headers(self) -> list[tuple[str, bytes]]:
        return []

    def timestamp(self) -> tuple[int, int]:
        return 1, self.time

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes | None:
        return None


@pytest.mark.parametrize("time", [2**62, -(2**62), 253_402_300_800_000])
def test_a_timestamp_outside_of_the_calendar_counts_as_now(time: int) -> None:
    assert to_dead_letter(cast("Message", KafkaRecord(time)))["at"].startswith(str(datetime.now(UTC).year))
