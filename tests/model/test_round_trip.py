"""Whatever names and mappings there are: an export and its import are the matrix again; an import is what it says."""

import csv
import io
import json
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from metl.matrix.csv_mappings.apply import apply, plan
from metl.matrix.csv_mappings.export import export
from metl.matrix.csv_mappings.format import COLUMNS, FORMULA
from metl.matrix.csv_mappings.parse import parse
from tests.conftest import scratch_database
from tests.model.conftest import Row

ONES = "select schema, version, attribute, entity, entity_version, entity_attribute from metl.decompaction"
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
#: Names need something that can be seen, and may have anything else.
names = st.builds(
    "{}{}{}".format,
    st.text(st.sampled_from(f"{FORMULA}'\"\"',; "), max_size=3),
    st.sampled_from(["a", "b", "id", "é", "日本", "😀", "x" * 490, "'", '"']),
    st.text(st.sampled_from(",;\"'\r\n\t ") | characters, max_size=4),
)
several = st.lists(names, min_size=1, max_size=4, unique=True)
versions = st.lists(several, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def connection(postgres: str, template: str) -> Iterator[psycopg.Connection]:
    """Rolled back after every example."""
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(make_conninfo(postgres, dbname=name)) as made,
    ):
        yield made


@st.composite
def matrices(draw: st.DrawFn) -> tuple[dict[str, list[list[str]]], dict[str, list[str]]]:
    """The attributes of each version of each schema, and those of each entity."""
    schemas = draw(st.dictionaries(names, versions, min_size=1, max_size=2))
    return schemas, draw(st.dictionaries(names, several, min_size=1, max_size=2))


def plant(connection: psycopg.Connection, schemas: dict[str, list[list[str]]], entities: dict[str, list[str]]) -> None:
    for schema, shapes in schemas.items():
        for version, attributes in enumerate(shapes, start=1):
            connection.execute("select metl.add_schema_version(%s, %s, %s)", [schema, version, described(attributes)])
    for entity, attributes in entities.items():
        connection.execute("select metl.add_entity_version(%s, 1, %s)", [entity, described(attributes)])


def described(attributes: list[str]) -> str:
    return json.dumps([{"name": name, "type": "string"} for name in attributes])


def draw_cells(
    data: st.DataObject, schemas: dict[str, list[list[str]]], entities: dict[str, list[str]]
) -> dict[tuple[str, int, str], list[Row]]:
    """The cells of some blocks, each 1:1 both ways."""
    blocks = {}
    for schema, shapes in schemas.items():
        for version, attributes in enumerate(shapes, start=1):
            for entity, targets in entities.items():
                if data.draw(st.booleans()):
                    pairs = zip(
                        data.draw(st.permutations(attributes)), data.draw(st.permutations(targets)), strict=False
                    )
                    kept = [pair for pair in pairs if data.draw(st.booleans())]
                    blocks[schema, version, entity] = [
                        (schema, version, attribute, entity, 1, target) for attribute, target in kept
                    ]
    return blocks


def as_csv(blocks: dict[tuple[str, int, str], list[Row]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for (schema, version, entity), rows in blocks.items():
        for row in rows or [(schema, version, "", entity, 1, "")]:
            writer.writerow(escaped(cell) if isinstance(cell, str) else cell for cell in row)
    return text.getvalue().encode()


def escaped(cell: str) -> str:
    """Only where it has to be: a name that begins as an escaped one does."""
    return f"'{cell}" if cell[:1] == "'" and cell[1:2] in {*FORMULA, "'"} else cell


def exported(connection: psycopg.Connection) -> bytes:
    output = io.BytesIO()
    export(connection, output)
    return output.getvalue()


def ones(connection: psycopg.Connection) -> set[Row]:
    return set(connection.execute(ONES).fetchall())


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(matrix=matrices(), data=st.data())
def test_an_export_and_its_import_are_the_matrix_again(
    connection: psycopg.Connection,
    matrix: tuple[dict[str, list[list[str]]], dict[str, list[str]]],
    data: st.DataObject,
) -> None:
    try:
        plant(connection, *matrix)
        blocks = draw_cells(data, *matrix)
        for (schema, version, entity), rows in blocks.items():
            mapping = json.dumps({row[5]: row[2] for row in rows})
            connection.execute("select metl.set_block(%s, %s, %s, 1, %s)", [schema, version, entity, mapping])
        before, text = ones(connection), exported(connection)
        for row in csv.reader(io.StringIO(text.decode(), newline="")):
            assert all(cell[0] not in FORMULA for cell in row)
        lines = parse(text, "exported")
        assert apply(connection, lines, replace=True) is None, "nothing has changed"
        connection.execute("select metl.set_mappings('{}', true)")
        assert ones(connection) == set()
        apply(connection, lines, replace=False)
        assert ones(connection) == before
        assert exported(connection) == text
        assert connection.execute("select * from metl.check()").fetchall() == []
    finally:
        connection.rollback()


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(matrix=matrices(), data=st.data(), replace=st.booleans())
def test_an_import_sets_what_is_mentioned_and_nothing_else(
    connection: psycopg.Connection,
    matrix: tuple[dict[str, list[list[str]]], dict[str, list[str]]],
    data: st.DataObject,
    replace: bool,
) -> None:
    try:
        plant(connection, *matrix)
        expected: dict[tuple[str, int, str], list[Row]] = {}
        # One after the other, so that the later ones meet what the earlier ones left.
        for _ in range(2):
            wanted = draw_cells(data, *matrix)
            lines = parse(as_csv(wanted), "given")
            planned = plan(connection, lines, replace)
            before = ones(connection)
            applied = apply(connection, lines, replace)
            after = ones(connection)
            expected = wanted if replace else expected | wanted
            assert after == {row for rows in expected.values() for row in rows}
            assert (applied is None) == (before == after)
            for fate, difference in (("gained", after - before), ("lost", before - after)):
                assert {
                    tuple(each[column] for column in COLUMNS) for each in planned if each["fate"] == fate
                } == difference
            assert connection.execute("select * from metl.check()").fetchall() == []
    finally:
        connection.rollback()
