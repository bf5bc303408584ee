"""The SQL of initial loads as text; tests/initial_load runs it."""

import textwrap

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from metl.errors import BadInput
from metl.util.nearest import nearest
from metl.warehouse.dialects import (
    ADDRESS,
    BITS,
    CASTS,
    DOCUMENT,
    KINDS,
    PADDED,
    SINGLE,
    TYPES,
    ZONED,
    ZONED_TIME,
    Source,
)
from metl.warehouse.initial_load import Feed, parse_table, select, statement, table_of

GENERALIZED = [
    *("integer", "decimal", "float", "boolean", "string", "bytes", "date", "time", "timestamp"),
    *("interval", "uuid", "json", "object", "array", "geometry", "any"),
]
TYPE_OF = {ZONED: "timestamp", ZONED_TIME: "time", PADDED: "string", ADDRESS: "string", BITS: "bytes"} | {
    SINGLE: "float",
    DOCUMENT: "json",
}
# Everything that some dialect quotes or escapes, besides all of Unicode.
NAMES = st.text(
    st.sampled_from("\"'`[]\\.;-/*$?:%{}# \t\n\r") | st.characters(exclude_characters="\0", codec="utf-8"),
    min_size=1,
    max_size=15,
)

EXAMPLE = Feed(
    schema="shop.public.customer",
    version=2,
    entity="person",
    entity_version=1,
    types={"number": "integer", "e-mail": "string", "since": "timestamp", "seen": "timestamp", "credit": "decimal"}
    | {"rating": "decimal", "key": "uuid", "extra": "json", "tags": "array"},
    sources={
        "number": Source("id", "int32", "integer"),
        "e-mail": Source('ma"i`l]', "varchar(80)", "string"),
        "since": Source("order", "io.debezium.time.MicroTimestamp", "timestamp"),
        "seen": Source("seen", "timestamp(3) with time zone", "timestamp"),
        "credit": Source("credit", "numeric(12,2)", "decimal"),
        "rating": Source("stars", "int32", "integer"),
        "tags": Source("tags", "array", "array"),
    },
)
EXPECTED = {
    "postgres": """
        SELECT
          CAST("id" AS BIGINT) AS "number",
          CAST("ma""i`l]" AS TEXT) AS "e-mail",
          CAST("order" AS TIMESTAMP) AT TIME ZONE 'UTC' AS "since",
          CAST("seen" AS TIMESTAMPTZ) AS "seen",
          CAST("credit" AS DECIMAL) AS "credit",
          CAST("stars" AS DECIMAL) AS "rating",
          CAST(NULL AS UUID) AS "key",
          CAST(NULL AS JSONB) AS "extra",
          "tags" AS "tags"
        FROM "public"."customer";
    """,
    "mysql": """
        SELECT
          `id` AS `number`,
          `ma"i``l]` AS `e-mail`,
          CAST(`order` AS DATETIME(6)) AS `since`,
          CAST('1970-01-01' AS DATETIME(6)) + INTERVAL (
            UNIX_TIMESTAMP(`seen`)
          ) SECOND AS `seen`,
          `credit` AS `credit`,
          CAST(`stars` AS DECIMAL(65, 30)) AS `rating`,
          CAST(NULL AS CHAR) AS `key`,
          CAST(NULL AS JSON) AS `extra`,
          `tags` AS `tags`
        FROM `public`.`customer`;
    """,
    "oracle": """
        SELECT
          CAST("id" AS NUMBER(38)) AS "number",
          "ma""i`l]" AS "e-mail",
          FROM_TZ(CAST("order" AS TIMESTAMP(9)), 'UTC') AS "since",
          CAST("seen" AS TIMESTAMP(9) WITH TIME ZONE) AS "seen",
          CAST("credit" AS NUMBER) AS "credit",
          CAST("stars" AS NUMBER) AS "rating",
          CAST(NULL AS VARCHAR2(36)) AS "key",
          CAST(NULL AS VARCHAR2(4000)) AS "extra",
          "tags" AS "tags"
        FROM "public"."customer";
    """,
    "tsql": """
        SELECT
          CAST([id] AS BIGINT) AS [number],
          CAST([ma"i`l]]] AS NVARCHAR(MAX)) AS [e-mail],
          CAST([order] AS DATETIMEOFFSET) AS [since],
          CAST([seen] AS DATETIMEOFFSET) AS [seen],
          [credit] AS [credit],
          CAST([stars] AS NUMERIC(38, 18)) AS [rating],
          CAST(NULL AS UNIQUEIDENTIFIER) AS [key],
          CAST(NULL AS NVARCHAR(MAX)) AS [extra],
          [tags] AS [tags]
        FROM [public].[customer];
    """,
    "snowflake": """
        SELECT
          CAST("id" AS BIGINT) AS "number",
          CAST("ma""i`l]" AS VARCHAR) AS "e-mail",
          TO_TIMESTAMP_TZ(
            TO_CHAR(CAST("order" AS TIMESTAMPNTZ), 'yyyy-mm-DD hh24:mi:ss.ff9') || ' +0000',
            'yyyy-mm-DD hh24:mi:ss.ff9 tzhtzm'
          ) AS "since",
          CAST("seen" AS TIMESTAMPTZ) AS "seen",
          "credit" AS "credit",
          CAST("stars" AS DECIMAL(38, 18)) AS "rating",
          CAST(NULL AS VARCHAR) AS "key",
          CAST(NULL AS VARIANT) AS "extra",
          "tags" AS "tags"
        FROM "public"."customer";
    """,
    "bigquery": """
        SELECT
          CAST(`id` AS INT64) AS `number`,
          CAST(`ma"i\\`l]` AS STRING) AS `e-mail`,
          TIMESTAMP(CAST(`order` AS DATETIME), 'UTC') AS `since`,
          CAST(`seen` AS TIMESTAMP) AS `seen`,
          CAST(`credit` AS BIGNUMERIC) AS `credit`,
          CAST(`stars` AS BIGNUMERIC) AS `rating`,
          CAST(NULL AS STRING) AS `key`,
          CAST(NULL AS JSON) AS `extra`,
          `tags` AS `tags`
        FROM `public`.`customer`;
    """,
    "spark": """
        SELECT
          CAST(`id` AS BIGINT) AS `number`,
          CAST(`ma"i``l]` AS STRING) AS `e-mail`,
          CAST(CAST(CAST(`order` AS TIMESTAMP_NTZ) AS STRING) || 'Z' AS TIMESTAMP) AS `since`,
          CAST(`seen` AS TIMESTAMP) AS `seen`,
          `credit` AS `credit`,
          CAST(`stars` AS DECIMAL(38, 18)) AS `rating`,
          CAST(NULL AS STRING) AS `key`,
          CAST(NULL AS STRING) AS `extra`,
          `tags` AS `tags`
        FROM `public`.`customer`;
    """,
    "duckdb": """
        SELECT
          CAST("id" AS BIGINT) AS "number",
          CAST("ma""i`l]" AS TEXT) AS "e-mail",
          CAST("order" AS TIMESTAMP) AT TIME ZONE 'UTC' AS "since",
          CAST("seen" AS TIMESTAMPTZ) AS "seen",
          "credit" AS "credit",
          CAST("stars" AS DECIMAL(38, 18)) AS "rating",
          CAST(NULL AS UUID) AS "key",
          CAST(NULL AS JSON) AS "extra",
          "tags" AS "tags"
        FROM "public"."customer";
    """,
}


def test_there_is_an_example_of_every_dialect() -> None:
    assert set(EXPECTED) == set(TYPES) == set(CASTS)


@pytest.mark.parametrize("dialect", TYPES)
def test_an_example(dialect: str) -> None:
    title, *lines = statement(EXAMPLE, dialect).splitlines()
    assert title == "-- shop.public.customer version 2 → person version 1"
    assert lines == textwrap.dedent(EXPECTED[dialect]).strip().splitlines()


def parsed(text: str, dialect: str) -> exp.Select:
    [only] = sqlglot.parse(text, dialect=dialect)
    assert isinstance(only, exp.Select)
    return only


@pytest.mark.parametrize("dialect", TYPES)
def test_every_form_means_what_was_built(dialect: str) -> None:
    """As far as sqlglot, which knows the grammar of the dialect, can tell."""
    kinds = {name: Source("column", name, TYPE_OF[kind]) for name, kind in KINDS.items()}
    types = {}
    sources = {}
    for target in GENERALIZED:
        types[f"nothing to {target}"] = target
        for name, source in ({each: Source("column", each, each) for each in GENERALIZED} | kinds).items():
            types[f"{name} to {target}"] = target
            sources[f"{name} to {target}"] = source
    feed = Feed("a.b.c", 1, "entity", 1, types, sources)
    assert parsed(statement(feed, dialect), dialect) == select(feed, dialect)


@pytest.mark.parametrize("dialect", TYPES)
@settings(max_examples=20)
@given(names=st.lists(NAMES, min_size=5, max_size=5))
def test_any_name_is_quoted(dialect: str, names: list[str]) -> None:
    if dialect == "bigquery":
        # Where sqlglot takes a quoted name with dots for several, as BigQuery does with those of tables.
        names = [name.replace(".", "_") for name in names]
    schema, entity, attribute, *columns = names
    types = {attribute: "string", attribute + "2": "any"}
    sources = {name: Source(column, "string", "string") for name, column in zip(types, columns, strict=True)}
    again = parsed(statement(Feed(schema, 1, entity, 1, types, sources), dialect), dialect)
    assert [each.alias for each in again.selects] == [attribute, attribute + "2"]
    assert {each.name for each in again.find_all(exp.Column)} == set(columns)
    assert not list(again.find_all(exp.Star))


def test_a_line_break_does_not_end_the_comment() -> None:
    for end in "\n\r\v\f\x85\u2028":
        feed = Feed(f"a{end}drop table b; --", 1, f"c{end}d", 1, {"e": "string"}, {})
        assert statement(feed, "postgres").splitlines()[0] == "-- a drop table b; -- version 1 → c d version 1"


@pytest.mark.parametrize(
    ("schema", "table"),
    [
        ("customer", '"customer"'),
        ("public.customer", '"public"."customer"'),
        ("shop.public.customer", '"public"."customer"'),
        ("shop.db.dbo.customer", '"db"."dbo"."customer"'),
        ("shop.server.db.dbo.customer", '"server"."db"."dbo"."customer"'),
        ("shop..customer", '"shop..customer"'),
        ("customer.", '"customer."'),
        ('a.b"c.d e', '"b""c"."d e"'),
    ],
)
def test_the_table_of_a_schema(schema: str, table: str) -> None:
    assert table_of(schema).sql("postgres", identify=True) == table


@pytest.mark.parametrize(
    ("dialect", "given", "quoted"),
    [
        ("postgres", "Public.Customer", '"public"."customer"'),
        ("postgres", '"Public".customer', '"Public"."customer"'),
        ("oracle", "shop.customer", '"SHOP"."CUSTOMER"'),
        ("snowflake", 'shop."customer"', '"SHOP"."customer"'),
        ("mysql", "Shop.`a``b`", "`Shop`.`a``b`"),
        ("tsql", "dbo.[Customer x]", "[dbo].[Customer x]"),
        ("tsql", "Dbo.Customer", "[Dbo].[Customer]"),
        ("bigquery", "my-project.shop.Customer", "`my-project`.`shop`.`Customer`"),
        ("spark", "parquet.`/data/customer`", "`parquet`.`/data/customer`"),
        ("duckdb", "order", '"order"'),
    ],
)
def test_a_named_table_is_what_the_database_would_take_it_for(dialect: str, given: str, quoted: str) -> None:
    assert parse_table(given, dialect).sql(dialect, identify=True) == quoted


@pytest.mark.parametrize("dialect", TYPES)
@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a.", 'a"', "a; drop table b", "(select 1)", "f(1)", "a, b", "a join b", "*"]
)
def test_what_is_no_table_is_refused(name: str, dialect: str) -> None:
    with pytest.raises(BadInput, match=r"is not the name of a table in the SQL of"):
        parse_table(name, dialect)


@pytest.mark.parametrize(
    ("word", "names", "text"),
    [
        ("custmer", ["customer", "order"], " Did you mean 'customer'?"),
        ("CUSTOMER", ["customer", "order"], " Did you mean 'customer'?"),
        ("costumer", ["customer", "consumer", "order"], " Did you mean 'consumer' or 'customer'?"),
        ("customer", ["shop.public.customer", "x"], " Did you mean 'shop.public.customer'?"),
        ("zzz", ["b", "a"], " Known are 'a', 'b'."),
        ("zzz", ["f", "e", "d", "c", "b", "a", "it's"], """ Known are 'a', 'b', 'c', 'd', 'e' and 2 more."""),
        ("zzz", [], " None is known yet."),
    ],
)
def test_what_somebody_may_have_meant(word: str, names: list[str], text: str) -> None:
    assert nearest(word, names) == text


def test_what_may_not_be_exact_is_said() -> None:
    feed = Feed(
        "orders", 1, "order", 1,
        {"whole": "integer", "day": "date", "name": "string"},
        {
            "whole": Source("price", "numeric", "decimal"),
            "day": Source("at", "timestamp", "timestamp"),
            "name": Source("name", "text", "string"),
        },
    )  # fmt: skip
    for dialect in TYPES:
        assert statement(feed, dialect).splitlines()[:4] == [
            "-- orders version 1 → order version 1",
            "-- may not be exact: whole, decimal to integer",
            "-- may not be exact: day, timestamp to date",
            "SELECT",
        ]
