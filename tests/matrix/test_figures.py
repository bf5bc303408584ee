"""The figures of the paper, set up and read in SQL as a user of psql would."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[tuple[Any, ...]]

# fig:dmm, the golden figure of design.md
GOLDEN = """
select metl.add_schema_version('s1', 1, '[{"name": "a1", "type": "string"}, {"name": "a2", "type": "string"},
                                          {"name": "a3", "type": "string"}]');
select metl.add_schema_version('s1', 2, '[{"name": "a4", "type": "string", "renamed_from": "a1"},
                                          {"name": "a5", "type": "string", "renamed_from": "a3"}]');
select metl.add_schema_version('s2', 1, '[{"name": "a6", "type": "string"}]');
select metl.add_entity_version('be1', 2, '[{"name": "c3", "type": "string"}, {"name": "c4", "type": "string"}]');
select metl.add_entity_version('be2', 1, '[{"name": "c5", "type": "string"}]');
select metl.add_entity_version('be3', 1, '[{"name": "c6", "type": "string"}, {"name": "c7", "type": "string"}]');
select metl.set_block('s1', 1, 'be1', 2, '{"c3": "a1", "c4": "a3"}');
select metl.set_block('s1', 2, 'be1', 2, '{"c3": "a4", "c4": "a5"}');
select metl.set_block('s2', 1, 'be2', 1, '{"c5": "a6"}');
select metl.set_block('s1', 1, 'be3', 1, '{"c6": "a2", "c7": "a1"}');
"""
# Setting s1 v1 changes that block only, whichever version was there before: s1 v2 maps nothing to be3.

# fig:dmm2 before its two events; a6 stands in for what the figure says it is equivalent to.
BEFORE_THE_UPDATES = """
select metl.add_entity_version('be1', 1, '[{"name": "c1", "type": "string"}, {"name": "c2", "type": "string"}]');
select metl.add_entity_version('be2', 1, '[{"name": "c6", "type": "string"}, {"name": "c7", "type": "string"}]');
select metl.add_schema_version('s1', 1, '[{"name": "a1", "type": "string"}, {"name": "a2", "type": "string"},
                                          {"name": "a3", "type": "string"}]');
select metl.add_schema_version('s1', 2, '[{"name": "a4", "type": "string", "renamed_from": "a1"},
                                          {"name": "a5", "type": "string"},
                                          {"name": "a6", "type": "string", "renamed_from": "a2"}]');
select metl.set_block('s1', 1, 'be1', 1, '{"c1": "a1", "c2": "a3"}');
select metl.set_block('s1', 2, 'be1', 1, '{"c1": "a4", "c2": "a6"}');
select metl.set_block('s1', 1, 'be2', 1, '{"c6": "a2", "c7": "a1"}');
"""
SCHEMA_EVENT = """
select metl.add_schema_version('s1', 3, '[{"name": "a7", "type": "string", "renamed_from": "a4"}]')
"""
ENTITY_EVENT = """
select metl.add_entity_version('be1', 2, '[{"name": "c3", "type": "string", "renamed_from": "c1"},
                                           {"name": "c4", "type": "string", "renamed_from": "c2"}]')
"""
# The figure's rows, column by column from a1 to a7.
FIRST_ROWS = {"c1": "1001001", "c2": "0010010"}
FIRST_ROWS_OF_VERSION_2 = {"c3": "1001001", "c4": "0010010"}
LAST_ROWS = {"c6": "0100000", "c7": "1000000"}


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def golden(connection: Connection) -> Connection:
    connection.execute(GOLDEN)
    return connection


@pytest.fixture
def before(connection: Connection) -> Connection:
    connection.execute(BEFORE_THE_UPDATES)
    return connection


def rows(connection: Connection, query: str, *parameters: object) -> set[tuple[Any, ...]]:
    found = connection.execute(query, parameters).fetchall()
    assert len(found) == len(set(found)), "rows appear twice"
    return set(found)


def elements(connection: Connection) -> list[tuple[Any, ...]]:
    """Every element of the matrix, zeros too, row by row."""
    return connection.execute("""
        select b.entity_attribute, b.value
        from metl.entity_versions as e, metl.schema_versions as s,
            metl.matrix_block(s.schema, s.version, e.entity, e.version) with ordinality as b
        where s.deleted is null and e.deleted is null
        order by e.entity, b.entity_attribute, s.schema, s.version, b.ordinality
    """).fetchall()


def picture(connection: Connection) -> dict[str, str]:
    """The matrix as the figures print it: entity attributes down, attributes across."""
    lines: dict[str, str] = {}
    for entity_attribute, value in elements(connection):
        lines[entity_attribute] = lines.get(entity_attribute, "") + str(value)
    return lines


def lost_cells(connection: Connection, state: int) -> list[tuple[Any, ...]]:
    query = "select kind, schema, version, entity, entity_version, lost from metl.notices where state = %s"
    return connection.execute(query, [state]).fetchall()


def scalar(connection: Connection, query: str) -> Any:
    [(value,)] = rows(connection, query)
    return value


def test_the_golden_matrix_has_30_elements_and_7_ones(golden: Connection) -> None:
    assert picture(golden) == {
        "c3": "100100",
        "c4": "001010",
        "c5": "000001",
        "c6": "010000",
        "c7": "100000",
    }
    assert len(elements(golden)) == 30


def test_the_golden_ones_are_the_decompaction(golden: Connection) -> None:
    assert rows(golden, "select * from metl.decompaction") == {
        ("s1", 1, "be1", 2, "a1", "c3"),
        ("s1", 1, "be1", 2, "a3", "c4"),
        ("s1", 2, "be1", 2, "a4", "c3"),
        ("s1", 2, "be1", 2, "a5", "c4"),
        ("s2", 1, "be2", 1, "a6", "c5"),
        ("s1", 1, "be3", 1, "a2", "c6"),
        ("s1", 1, "be3", 1, "a1", "c7"),
    }


def test_the_golden_dusb_has_5_elements_and_1_null_block(golden: Connection) -> None:
    assert rows(golden, "select * from metl.dusb") == {
        ("s1", "be1", 2, 1, "a1", "c3"),
        ("s1", "be1", 2, 1, "a3", "c4"),
        ("s2", "be2", 1, 1, "a6", "c5"),
        ("s1", "be3", 1, 1, "a2", "c6"),
        ("s1", "be3", 1, 1, "a1", "c7"),
        ("s1", "be3", 1, 2, None, None),
    }


def test_the_golden_figure_took_one_state_per_call(golden: Connection) -> None:
    assert scalar(golden, "select metl.current_state()") == GOLDEN.count("select metl.")
    assert rows(golden, "select * from metl.check()") == set()


def test_the_golden_matrix_builds_itself_when_blocks_are_set_before_version_2_comes(connection: Connection) -> None:
    """Auto-Update finds by itself what the figure shows, but for c7, whose attribute a1 goes on as a4."""
    statements = [f"select {each.strip().rstrip(';')}" for each in GOLDEN.split("select ")[1:]]
    second = next(each for each in statements if "'s1', 2, '[" in each)
    by_hand = next(each for each in statements if "'s1', 2, 'be1'" in each)
    for each in [*(each for each in statements if each not in (second, by_hand)), second]:
        connection.execute(each)
    assert picture(connection) | {"c7": "100000"} == {
        "c3": "100100", "c4": "001010", "c5": "000001", "c6": "010000", "c7": "100000",
    }  # fmt: skip
    assert picture(connection)["c7"] == "100100"
    state = scalar(connection, "select metl.current_state()")
    assert lost_cells(connection, state) == [
        ("shrunk", "s1", 2, "be3", 1, [{"attribute": "a2", "entity_attribute": "c6"}])
    ]


def test_an_added_schema_version_gets_what_its_attributes_continue(before: Connection) -> None:
    state = scalar(before, SCHEMA_EVENT)
    assert picture(before) == FIRST_ROWS | LAST_ROWS
    assert lost_cells(before, state) == [("shrunk", "s1", 3, "be1", 1, [{"attribute": "a6", "entity_attribute": "c2"}])]
    assert rows(before, "select * from metl.dusb where version = 3") == {("s1", "be1", 1, 3, "a7", "c1")}


def test_an_added_entity_version_takes_the_rows_of_the_one_before(before: Connection) -> None:
    before.execute(SCHEMA_EVENT)
    cells = "select * from metl.decompaction_at({}) where entity = 'be1'"
    state = scalar(before, ENTITY_EVENT)
    assert picture(before) == FIRST_ROWS_OF_VERSION_2 | LAST_ROWS
    assert rows(before, "select version from metl.entity_versions where deleted is null and entity = 'be1'") == {(2,)}
    assert {each[3] for each in rows(before, cells.format(state))} == {2}
    assert {each[3] for each in rows(before, cells.format(state - 1))} == {1}
    assert len(rows(before, cells.format(state))) == len(rows(before, cells.format(state - 1))) == 5
    assert [each[0] for each in lost_cells(before, state)] == ["unchanged"]


@pytest.mark.parametrize(("a6_continues", "stored"), [("a2", {1, 2, 3}), ("a3", {1, 3})])
def test_the_updated_matrix_is_stored_as_its_unique_blocks(
    connection: Connection, a6_continues: str, stored: set[int]
) -> None:
    """The header of the figure says a6 ≡ a2, its ones fit a6 ≡ a3: the ones are the same, what is stored is not."""
    connection.execute(BEFORE_THE_UPDATES.replace('"renamed_from": "a2"', f'"renamed_from": "{a6_continues}"'))
    connection.execute(SCHEMA_EVENT)
    connection.execute(ENTITY_EVENT)
    assert picture(connection) == FIRST_ROWS_OF_VERSION_2 | LAST_ROWS
    of_be1 = rows(connection, "select version, attribute from metl.dusb where entity = 'be1'")
    assert {version for version, _ in of_be1} == stored
    assert rows(connection, "select version, attribute, entity_attribute from metl.dusb where entity = 'be2'") == {
        (1, "a2", "c6"),
        (1, "a1", "c7"),
        (2, None, None),
    }
    assert rows(connection, "select * from metl.check()") == set()
