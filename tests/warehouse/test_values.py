"""Values that came over the wire are in the warehouse what the SELECT of `metl entities sql` makes of their columns."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from metl.warehouse.initial_load import FeedFilter, feeds, select
from tests.conftest import scratch_database
from tests.warehouse.staging import Staged, merge, start


@dataclass(frozen=True)
class Case:
    column: str  # SQL that makes the column's value at the source
    source_type: str
    wire: object  # as Debezium and other producers write it
    target: str


MOMENT = "timestamp '2024-03-10 02:30:00.123456'"
MICROS = 1710037800123456
CASES = [
    Case("42", "int32", 42, "integer"),
    Case("42", "int64", 42, "decimal"),
    Case("42", "int64", 42, "string"),
    Case("42", "int64", 42, "float"),
    Case("9223372036854775807", "int64", 9223372036854775807, "integer"),
    Case("12.50", "numeric(10,2)", "12.50", "decimal"),
    Case("12.50", "numeric(10,2)", "12.50", "string"),
    Case("12.00", "numeric(10,2)", "12.00", "integer"),
    Case("0.5", "numeric", "0.5", "float"),
    Case("12.50", "org.apache.kafka.connect.data.Decimal(2)", "BOI=", "decimal"),
    Case("-1.00", "org.apache.kafka.connect.data.Decimal(2)", "nA==", "decimal"),
    Case("12.5", "org.apache.kafka.connect.data.Decimal", 12.5, "decimal"),
    Case("-1.28", "io.debezium.data.VariableScaleDecimal", {"scale": 2, "value": "gA=="}, "decimal"),
    Case("0.1::float8", "float64", 0.1, "float"),
    Case("1e300::float8", "float64", 1e300, "float"),
    Case("0.1::float8", "float64", 0.1, "decimal"),
    Case("0.1::float8", "float64", 0.1, "string"),
    Case("'NaN'::float8", "float64", "NaN", "float"),
    Case("true", "boolean", True, "boolean"),
    Case("false", "boolean", False, "string"),
    Case("'it''s'", "string", "it's", "string"),
    Case("' 12'", "string", " 12", "integer"),
    Case("'2024-03-10 00:00'", "string", "2024-03-10 00:00", "date"),
    Case("'0.10'", "string", "0.10", "float"),
    Case("'2024-03-10 02:30:00.1234560+02'", "string", "2024-03-10 02:30:00.1234560+02", "timestamp"),
    Case("'\\x0102ff'::bytea", "bytes", "AQL/", "bytes"),
    Case("date '2024-03-10'", "io.debezium.time.Date", 19792, "date"),
    Case("date '1950-01-01'", "io.debezium.time.Date", -7305, "date"),
    Case("date '2024-03-10'", "date", "2024-03-10", "date"),
    Case("date '2024-03-10'", "io.debezium.time.Date", 19792, "string"),
    Case("date '2024-03-10'", "io.debezium.time.Date", 19792, "timestamp"),
    Case("time '10:11:12.123'", "io.debezium.time.Time", 36672123, "time"),
    Case("time '10:11:12.123456'", "io.debezium.time.MicroTime", 36672123456, "time"),
    Case("time '10:11:12.123456'", "io.debezium.time.NanoTime", 36672123456000, "time"),
    Case("time '24:00'", "io.debezium.time.MicroTime", 86400000000, "time"),
    Case("timetz '10:11:12+02'", "io.debezium.time.ZonedTime", "08:11:12Z", "time"),
    Case(MOMENT, "io.debezium.time.MicroTimestamp", MICROS, "timestamp"),
    Case(MOMENT, "io.debezium.time.NanoTimestamp", MICROS * 1000, "timestamp"),
    Case("timestamp '2024-03-10 02:30:00.123'", "io.debezium.time.Timestamp", MICROS // 1000, "timestamp"),
    Case(MOMENT, "io.debezium.time.MicroTimestamp", MICROS, "string"),
    Case("timestamp '9999-12-31 23:59:59.999999'", "io.debezium.time.MicroTimestamp", 253402300799999999, "timestamp"),
    Case("timestamp '1582-10-04 00:00'", "io.debezium.time.MicroTimestamp", -12220243200000000, "timestamp"),
    Case("timestamptz '2024-03-10 04:30+02'", "io.debezium.time.ZonedTimestamp", "2024-03-10T02:30:00Z", "timestamp"),
    Case("timestamp '2024-03-10'", "io.debezium.time.MicroTimestamp", 1710028800000000, "date"),
    Case("interval '1 day 2 seconds'", "io.debezium.time.Interval", "P0Y0M1DT0H0M2.0S", "interval"),
    Case("interval '2.5 seconds'", "io.debezium.time.MicroDuration", 2500000, "interval"),
    Case("'8a3d7a57-6b4f-4a4b-9f1f-0c4f2f6d8e11'::uuid", "uuid", "8a3d7a57-6b4f-4a4b-9f1f-0c4f2f6d8e11", "uuid"),
    Case("""'{"b": [1, 1.10]}'::jsonb""", "io.debezium.data.Json", '{"b": [1, 1.10]}', "json"),
    Case("'[1, 2]'::jsonb", "array", [1, 2], "array"),
    Case("'{\"a\": 1}'::jsonb", "record", {"a": 1}, "object"),
    # What METL's converter and Debezium make of the edges of PostgreSQL's types.
    Case("numeric 'NaN'", "numeric", "NaN", "decimal"),
    Case("numeric '-Infinity'", "numeric", "-Infinity", "decimal"),
    Case("numeric 'Infinity'", "numeric", "Infinity", "string"),
    Case("12345678901234567890.10", "numeric", "12345678901234567890.10", "string"),
    Case("1.1::real", "float", 1.1, "float"),
    Case("float8 'Infinity'", "double", "Infinity", "float"),
    Case("float8 '-0'", "double", -0.0, "float"),
    Case("date 'infinity'", "io.debezium.time.Date", -2147472692, "date"),
    Case("date '-infinity'", "io.debezium.time.Date", -2147472691, "date"),
    Case("date '4713-01-01 BC'", "io.debezium.time.Date", -2440550, "date"),
    Case("date '0001-01-01 BC'", "io.debezium.time.IsoDate", "0000-01-01Z", "date"),
    Case("date '10000-01-01'", "io.debezium.time.Date", 2932897, "date"),
    Case("date '5874897-12-31'", "io.debezium.time.Date", 2145042905, "date"),
    Case("timestamp 'infinity'", "io.debezium.time.MicroTimestamp", 9223372036825200000, "timestamp"),
    Case("timestamp '-infinity'", "io.debezium.time.MicroTimestamp", -9223372036832400000, "timestamp"),
    Case("timestamp(3) 'infinity'", "io.debezium.time.Timestamp", 9223372036825200, "timestamp"),
    Case("timestamp '4713-01-01 BC'", "io.debezium.time.MicroTimestamp", -210863520000000000, "timestamp"),
    Case("timestamptz 'infinity'", "io.debezium.time.ZonedTimestamp", "infinity", "timestamp"),
    Case("timestamptz '-infinity'", "io.debezium.time.ZonedTimestamp", "-infinity", "timestamp"),
    Case("timestamptz '4713-01-01 01:02:03.5+00 BC'", "io.debezium.time.ZonedTimestamp",
         "-4712-01-01T01:02:03.500000Z", "timestamp"),
    Case("timestamptz '0001-01-01 00:00+00 BC'", "io.debezium.time.ZonedTimestamp", "0000-01-01T00:00:00.000Z",
         "timestamp"),
    Case("timestamptz '294276-12-31 23:59:59.999999+00'", "io.debezium.time.ZonedTimestamp",
         "+294276-12-31T23:59:59.999999Z", "timestamp"),
    Case("interval '1 year 2 mons 3 days 04:05:06.789'", "io.debezium.time.Interval", "P1Y2M3DT4H5M6.789S", "interval"),
    Case("interval '-1 mon +5 days -00:00:01'", "io.debezium.time.Interval", "P0Y-1M5DT0H0M-1S", "interval"),
    Case("interval '178000000 years'", "io.debezium.time.Interval", "P178000000Y0M0DT0H0M0S", "interval"),
    Case("interval '2 hours'", "io.debezium.time.Interval", "P0Y0M0DT2H0M0S", "time"),
    Case("'ab'::char(4)", "bpchar", "ab  ", "string"),
    Case("inet '10.0.0.1'", "inet", "10.0.0.1", "string"),
    Case("b'00101'", "string", "00101", "string"),
    Case("'{{1,2},{3,null}}'::int[]", "io.debezium.data.Json", "[[1,2],[3,null]]", "json"),
    Case("'{1.10,NaN}'::numeric[]", "io.debezium.data.Json", '[1.10,"NaN"]', "array"),
    Case("'{\"0001-01-01 00:00+00 BC\"}'::timestamptz[]", "io.debezium.data.Json",
         '["0001-01-01T00:00:00+00:00 BC"]', "json"),
]  # fmt: skip
#: What no column can take without altering it.
MISFITS = [
    Case("", "io.debezium.time.NanoTimestamp", MICROS * 1000 + 1, "timestamp"),
    # What Debezium makes of 294276-12-31 23:59:59.999999: its microseconds overflow.
    Case("", "io.debezium.time.MicroTimestamp", -9223372036853775810, "timestamp"),
    # What it makes of an infinite date in a snapshot without METL's converter.
    Case("", "io.debezium.time.Date", -622191234, "date"),
    Case("", "numeric", "12.50", "integer"),
    Case("", "numeric", "0.1234567890123456789", "float"),
    Case("", "io.debezium.time.MicroTimestamp", MICROS, "date"),
    Case("", "org.apache.kafka.connect.data.Decimal", "BOI=", "decimal"),
    Case("", "float64", 1.5, "integer"),
    Case("", "io.debezium.time.Interval", "P0Y0M1DT2H0M0S", "time"),
    Case("", "int64", 9223372036854775808, "integer"),
    Case("", "string", "a\0b", "string"),
    Case("", "string", "soon", "timestamp"),
    Case("", "string", "2024-03-10 12:34", "date"),
    Case("", "string", "0.1234567890123456789", "float"),
    Case("", "string", "2024-03-10 12:34:56.1234567", "timestamp"),
    Case("", "io.debezium.time.ZonedTimestamp", "2024-03-10T02:30:00.123456789Z", "timestamp"),
    Case("", "io.debezium.time.ZonedTime", "08:11:12.1234567Z", "time"),
    Case("", "io.debezium.time.MicroTime", 90_000_000_000, "time"),
    Case("", "io.debezium.time.MicroTime", -3_600_000_000, "time"),
    # PostgreSQL has no cast from one to the other.
    Case("", "int64", 1710037800, "timestamp"),
    Case("", "boolean", True, "integer"),
]


@pytest.fixture(scope="module")
def connection(postgres: str, template: str) -> Iterator[psycopg.Connection]:
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(make_conninfo(postgres, dbname=name), autocommit=True) as connection,
    ):
        connection.execute("set timezone = 'UTC'")
        start(connection)
        yield connection


def lay_out(connection: psycopg.Connection, about: str, cases: list[Case]) -> int:
    """A schema and an entity with an attribute for each case."""
    schema = [{"name": f"from {n}", "type": case.source_type} for n, case in enumerate(cases)]
    entity = [{"name": f"to {n}", "type": case.target} for n, case in enumerate(cases)]
    mapping = {f"to {n}": f"from {n}" for n in range(len(cases))}
    connection.execute("select metl.add_schema_version(%s, 1, %s)", [about, json.dumps(schema)])
    connection.execute("select metl.add_entity_version(%s, 1, %s)", [about, json.dumps(entity)])
    [(state,)] = connection.execute(
        "select metl.set_block(%s, 1, %s, 1, %s)", [about, about, json.dumps(mapping)]
    ).fetchall()
    return int(state)


def test_values_are_those_of_the_initial_load(connection: psycopg.Connection) -> None:
    state = lay_out(connection, "fitting", CASES)
    columns = ", ".join(f'{case.column} as "from {n}"' for n, case in enumerate(CASES))
    connection.execute(f"create table fitting as select {columns}".encode())
    [feed] = feeds(connection, "fitting", FeedFilter())
    # Python knows neither 24:00 nor every moment of PostgreSQL.
    names = ", ".join(f'"to {n}"::text, pg_typeof("to {n}")::text' for n in range(len(CASES)))
    loaded = select(feed, "postgres").sql("postgres", identify=True)
    [wanted] = connection.execute(f"select {names} from ({loaded}) as loaded".encode()).fetchall()

    after = {f"to {n}": case.wire for n, case in enumerate(CASES)}
    assert merge(connection, [Staged("fitting", "fitting", "1", 0, 0, 0, "c", after, state)]) == 0
    [found] = connection.execute(f"select {names} from warehouse.fitting".encode()).fetchall()
    wrong = [
        (CASES[n // 2], one, other) for n, (one, other) in enumerate(zip(found, wanted, strict=True)) if one != other
    ]
    assert not wrong


def test_what_would_be_altered_is_rejected(connection: psycopg.Connection) -> None:
    state = lay_out(connection, "misfits", MISFITS)
    batch = [
        Staged("misfits", "misfits", str(n), 0, n, 0, "c", {f"to {n}": case.wire}, state)
        for n, case in enumerate(MISFITS)
    ]
    assert merge(connection, batch) == len(MISFITS)
    assert connection.execute("select * from warehouse.misfits").fetchall() == []
    rejected = connection.execute('select "offset", reason from warehouse._rejected order by 1').fetchall()
    assert [offset for offset, _ in rejected] == list(range(len(MISFITS)))
