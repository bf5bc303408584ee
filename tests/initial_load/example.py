"""Source values and the values expected in the entity, for engines that run the SQL of their dialect."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from metl.warehouse.dialects import Source
from metl.warehouse.initial_load import Feed

# At this zone's switch to daylight saving time, the hour of every timestamp below does not exist.
SESSION_ZONE = "America/New_York"
TIMESTAMP = datetime(2024, 3, 10, 2, 30, 0, 123456, tzinfo=UTC)
DAY = datetime(2024, 3, 10, tzinfo=UTC)
LONG = Decimal("12345678901234567890.123456789012345678")
AWKWARD = ['a"b', "a`b", "a]b[", "a.b", "a b", "order", "a;--b", "a'b\\", "ä/*ß*/", "a\nb", "*", "%s{}:x?"]


@dataclass(frozen=True)
class Case:
    value: str  # as an expression in the engine's SQL
    source_type: str
    generalized_type: str
    target: str
    expected: object


def timestamps(without_zone: str, with_zone: str) -> list[Case]:
    """One timestamp in each of the source types. The parameters name the engine's types."""
    return [
        Case(f"cast('2024-03-10 02:30:00.123456' as {without_zone})", "timestamp", "timestamp", "timestamp", TIMESTAMP),
        Case(
            f"cast('2024-03-10 02:30:00.123456' as {without_zone})", "DateTime(6)", "timestamp", "timestamp", TIMESTAMP
        ),
        Case(
            f"cast('2024-03-09 21:30:00.123456-05:00' as {with_zone})",
            "Timestamp(6) with time zone",
            "timestamp",
            "timestamp",
            TIMESTAMP,
        ),
        Case("cast('2024-03-10' as date)", "date", "date", "timestamp", DAY),
        Case("'2024-03-10 02:30:00.123456'", "text", "string", "timestamp", TIMESTAMP),
        Case("'2024-03-10T02:30:00.123456Z'", "char(40)", "string", "timestamp", TIMESTAMP),
        Case("'2024-03-10 04:30:00.123456+02:00'", "text", "string", "timestamp", TIMESTAMP),
        Case("'2024-03-09 21:30:00.123456-05'", "text", "string", "timestamp", TIMESTAMP),
    ]


# Expressions that are the same in every engine.
COMMON = [
    Case("42", "int32", "integer", "integer", 42),
    Case("42", "int32", "integer", "decimal", Decimal(42)),
    Case("9007199254740993", "int64", "integer", "decimal", Decimal(9007199254740993)),
    Case("cast('0.1' as decimal(38, 18))", "numeric(38,18)", "decimal", "decimal", Decimal("0.1")),
    Case(f"cast('{LONG}' as decimal(38, 18))", "numeric", "decimal", "decimal", LONG),
    Case(f"'{LONG}'", "text", "string", "decimal", LONG),
    Case("' 12'", "text", "string", "integer", 12),
    Case("'0.1234567890123456'", "text", "string", "float", 0.1234567890123456),
    Case("9007199254740993", "int64", "integer", "string", "9007199254740993"),
    Case("true", "bool", "boolean", "boolean", True),
    Case("'true'", "text", "string", "boolean", True),
    Case("'it''s  '", "text", "string", "string", "it's  "),
    Case("cast('2024-03-10' as date)", "date", "date", "date", date(2024, 3, 10)),
    Case("'2024-03-10'", "text", "string", "date", date(2024, 3, 10)),
]


def feed_of(cases: Sequence[Case], table: str) -> Feed:
    return Feed(
        table,
        1,
        "entity",
        1,
        {f"to {i}": case.target for i, case in enumerate(cases)},
        {f"to {i}": Source(f"from {i}", case.source_type, case.generalized_type) for i, case in enumerate(cases)},
    )


def rows_of(cases: Sequence[Case], quote: str = '"') -> str:
    """A query for two rows: the values, and nulls."""
    values = ", ".join(f"{case.value} as {quote}from {i}{quote}" for i, case in enumerate(cases))
    return f"select {values} union all select {', '.join(['null'] * len(cases))}"


def assert_expected(cases: Sequence[Case], rows: Sequence[Sequence[object]]) -> None:
    values, nulls = sorted(rows, key=lambda row: row[0] is None)
    for case, value in zip(cases, values, strict=True):
        assert (type(value), value) == (type(case.expected), case.expected), case
    assert set(nulls) == {None}
