"""metl entities sql, from the matrix to rows."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from click.testing import Result
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from metl.db.connection import snapshot
from tests.conftest import scratch_database
from tests.initial_load.example import AWKWARD
from tests.matrix.roles import member
from tests.unit.test_cli import metl

# Version 3 of bank maps nothing, version 2 of shop.public.customer is gone.
STORY = """
select metl.add_entity_version('person', 1, '[{"name": "number", "type": "integer"}]');
select metl.add_entity_version('person', 2,
    '[{"name": "number", "type": "integer"}, {"name": "email", "type": "string"}, {"name": "key", "type": "uuid"}]');
select metl.add_entity_version('gone', 1, '[{"name": "x", "type": "string"}]');
select metl.delete_entity_version('gone', 1);
select metl.add_entity_version('lonely', 1, '[{"name": "x", "type": "string"}]');
select metl.add_entity_version('historic', 1, '[{"name": "iban", "type": "string"}]');
select metl.add_schema_version('shop.public.customer', 1,
    '[{"name": "id", "type": "int32"}, {"name": "mail", "type": "string"}]');
select metl.set_block('shop.public.customer', 1, 'person', 2, '{"number": "id", "email": "mail"}');
select metl.add_schema_version('shop.public.customer', 2, '[{"name": "id", "type": "int32"}]');
select metl.delete_schema_version('shop.public.customer', 2);
select metl.add_schema_version('shop.public.customer', 10,
    '[{"name": "id", "type": "int64"}, {"name": "e_mail", "type": "text", "renamed_from": "mail"}]');
select metl.set_block('shop.public.customer', 10, 'person', 2, '{"number": "id", "email": "e_mail"}');
select metl.add_schema_version('bank', version, '[{"name": "iban", "type": "string"}]')
from unnest(array[1, 2]) as version;
select metl.set_run('bank', 1, 'person', 2, '{"email": "iban"}');
select metl.set_run('bank', 1, 'historic', 1, '{"iban": "iban"}');
select metl.add_schema_version('bank', 3, '[{"name": "number", "type": "string"}]');
select metl.add_schema_version('unmapped', 1, '[{"name": "x", "type": "string"}]');
"""


@pytest.fixture(scope="module")
def loaded(postgres: str, template: str) -> Iterator[str]:
    with scratch_database(postgres, template) as name:
        dsn = make_conninfo(postgres, dbname=name)
        with psycopg.connect(dsn) as connection:
            connection.execute(STORY)
        yield dsn


def titles(result: Result) -> list[str]:
    assert (result.exit_code, result.stderr) == (0, "")
    return re.findall("^-- (.*)$", result.stdout, re.M)


def test_a_statement_for_each_version_that_feeds_the_live_one(loaded: str) -> None:
    result = metl("entities", "sql", "person", METL_DSN=loaded)
    assert titles(result) == [
        "bank version 1 → person version 2",
        "bank version 2 → person version 2",
        "shop.public.customer version 1 → person version 2",
        "shop.public.customer version 10 → person version 2",
    ]
    assert result.stdout.endswith("""

-- shop.public.customer version 10 → person version 2
SELECT
  CAST("id" AS BIGINT) AS "number",
  CAST("e_mail" AS TEXT) AS "email",
  CAST(NULL AS UUID) AS "key"
FROM "public"."customer";
""")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--version", "newest"], ["shop.public.customer version 10"]),
        (["--schema", "bank"], ["bank version 1", "bank version 2"]),
        (["--schema", "bank", "--version", "2"], ["bank version 2"]),
        (["--schema", "shop.public.customer", "--version", "newest"], ["shop.public.customer version 10"]),
    ],
)
def test_only_some_of_them(loaded: str, options: list[str], expected: list[str]) -> None:
    result = metl("entities", "sql", "person", *options, METL_DSN=loaded)
    assert titles(result) == [f"{each} → person version 2" for each in expected]


def test_another_table_in_another_dialect(loaded: str) -> None:
    result = metl(
        *(
            "entities",
            "sql",
            "person",
            "--schema",
            "bank",
            "--version",
            "1",
            "--table",
            "raw.[Bank x]",
            "--dialect",
            "tsql",
        ),
        METL_DSN=loaded,
    )
    assert titles(result) == ["bank version 1 → person version 2"]
    assert result.stdout.endswith(" AS [key]\nFROM [raw].[Bank x];\n")


@pytest.mark.parametrize(
    ("words", "exit_code", "sentence"),
    [
        (["persn"], 2, "There is no entity 'persn'. Did you mean 'person'?"),
        (["zzz"], 2, "There is no entity 'zzz'. Known are 'gone', 'historic', 'lonely', 'person'."),
        (["gone"], 2, "Entity 'gone' has no live version. Add one with metl.add_entity_version."),
        (["lonely"], 1, "Nothing feeds entity 'lonely' yet. Map a schema version to it with metl.set_block."),
        (
            ["historic", "--version", "newest"],
            1,
            "Only older versions of schemas feed entity 'historic'. See them without",
        ),
        (["person", "--schema", "customer"], 2, "no schema 'customer'. Did you mean 'shop.public.customer'?"),
        (
            ["person", "--schema", "unmapped"],
            2,
            "Schema 'unmapped' does not feed entity 'person'. Those that do are 'bank', 'shop.public.customer'.",
        ),
        (
            ["person", "--schema", "shop.public.customer", "--version", "2"],
            2,
            "Schema 'shop.public.customer' has no live version 2. Live are 1, 10.",
        ),
        (
            ["person", "--schema", "bank", "--version", "3"],
            2,
            "Version 3 of schema 'bank' does not feed entity 'person'. Those that do are 1, 2.",
        ),
        (
            ["person", "--schema", "bank", "--version", "newest"],
            2,
            "Version 3 of schema 'bank' does not feed entity 'person'.",
        ),
        (["person", "--version", "1"], 2, "--version needs --schema"),
        (["person", "--schema", "bank", "--version", "one"], 2, "'one' is not a version"),
        (["person", "--table", "x"], 2, "--table needs --schema"),
        (
            ["person", "--schema", "bank", "--table", "a b"],
            2,
            "'a b' is not the name of a table in the SQL of postgres.",
        ),
        (["person", "--dialect", "oracel"], 2, "There is no dialect 'oracel'. Did you mean 'oracle'?"),
        (["person", "--dialect", "cobol"], 2, "There is no dialect 'cobol'. Known are 'bigquery', 'duckdb',"),
        ([], 2, "Missing argument 'ENTITY'"),
    ],
)
def test_bad_input_is_a_sentence(loaded: str, words: list[str], exit_code: int, sentence: str) -> None:
    result = metl("entities", "sql", *words, METL_DSN=loaded)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert sentence in result.stderr


def test_a_reader_may(loaded: str) -> None:
    with psycopg.connect(loaded, autocommit=True) as owner, member(owner, "metl_reader") as reader:
        dsn = make_conninfo(reader.info.dsn, password=reader.info.password)
        assert len(titles(metl("entities", "sql", "person", METL_DSN=dsn))) == 4


def test_somebody_else_may_not(loaded: str) -> None:
    with psycopg.connect(loaded, autocommit=True) as owner, member(owner, "metl_reader") as other:
        owner.execute(sql.SQL("revoke metl_reader from {}").format(sql.Identifier(other.info.user)))
        result = metl("entities", "sql", "person", METL_DSN=make_conninfo(other.info.dsn, password=other.info.password))
        assert result.exit_code == 1
        assert f"{other.info.user} may not read METL in database {owner.info.dbname}. Grant it" in result.stderr


def test_a_database_without_metl(postgres: str) -> None:
    with scratch_database(postgres) as name:
        result = metl("entities", "sql", "person", METL_DSN=make_conninfo(postgres, dbname=name))
    assert result.exit_code == 1
    assert f"Database {name} has no METL" in result.stderr


def test_a_database_that_does_not_answer() -> None:
    result = metl("entities", "sql", "person", METL_DSN="postgresql://ada:secret@127.0.0.1:1/metl")
    assert result.exit_code == 1
    assert "The database does not answer" in result.stderr
    assert "secret" not in result.output


def test_one_state_is_seen(loaded: str) -> None:
    state = "select metl.current_state()"
    with snapshot(loaded) as reading, psycopg.connect(loaded) as writing:
        before = reading.execute(state).fetchone()
        writing.execute("select metl.add_schema_version('late', 1, '[]')")
        writing.commit()
        assert reading.execute(state).fetchone() == before
        assert writing.execute(state).fetchone() != before


def test_rows_are_mapped_as_by_hand(database: str) -> None:
    """Two tables with awkward names feed one entity, from which they differ in names, order and types."""
    mapping = {f"{name} of the entity": name for name in AWKWARD}
    attributes = dict.fromkeys(mapping, "string")
    types = dict.fromkeys(AWKWARD, "text")
    mapping |= {"number": "nr", "since": "opened", "credit": "balance"}
    attributes |= {"number": "integer", "since": "timestamp", "credit": "decimal", "nothing": "date"}
    types |= {"balance": "numeric", "of no use": "text", "opened": "timestamp", "nr": "int4"}
    balance = Decimal("98765432109876543210.0123456789")
    sources: list[dict[str, Any]] = [
        {name: f"{name}{name}" for name in AWKWARD}
        | {"balance": balance, "of no use": "x", "opened": datetime(2024, 3, 10, 2, 30), "nr": 1},
        dict.fromkeys(types),
    ]
    tables = ['order "x"; --', "a`b\n[c]"]
    with psycopg.connect(
        database, autocommit=True, row_factory=dict_row, options="-c timezone=Asia/Tokyo"
    ) as connection:
        connection.execute("select metl.add_entity_version('person', 1, %s)", [described(attributes)])
        for table in tables:
            columns = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in types.items()]
            connection.execute(
                sql.SQL("create table {} ({})").format(sql.Identifier(table), sql.SQL(", ").join(columns))
            )
            insert = sql.SQL("insert into {} values ({})").format(
                sql.Identifier(table), sql.SQL(", ").join([sql.Placeholder()] * len(types))
            )
            for row in sources:
                connection.execute(insert, list(row.values()))
            schema = f"prefix.public.{table}"
            connection.execute("select metl.add_schema_version(%s, 1, %s)", [schema, described(types)])
            connection.execute("select metl.set_block(%s, 1, 'person', 1, %s)", [schema, Jsonb(mapping)])

        result = metl("entities", "sql", "person", METL_DSN=database)
        assert len(titles(result)) == len(tables)
        both = " union all ".join(result.stdout.removesuffix(";\n").split(";\n\n"))
        rows = connection.execute(both.encode()).fetchall()

    def mapped(row: dict[str, Any]) -> dict[str, Any]:
        values = {attribute: row.get(mapping.get(attribute, "")) for attribute in attributes}
        opened = values["since"]
        return values | {"since": opened and opened.replace(tzinfo=UTC)}

    assert sorted(rows, key=repr) == sorted([mapped(row) for row in sources * len(tables)], key=repr)
    assert [list(row) for row in rows] == [list(attributes)] * len(rows)


def described(types: dict[str, str]) -> Jsonb:
    return Jsonb([{"name": name, "type": kind} for name, kind in types.items()])
