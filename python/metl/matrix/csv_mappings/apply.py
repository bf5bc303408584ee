"""Apply parsed lines to the matrix: check them, plan the change, or set the blocks."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from metl.matrix.csv_mappings.format import COLUMNS
from metl.matrix.csv_mappings.parse import Lines
from metl.util.nearest import nearest
from metl.util.problems import SHOWN, InvalidFiles, Problem

LINES = sql.SQL("""
array(
    select (line::int, schema, version, attribute, entity, entity_version, entity_attribute)::metl.mapping_line
    from rows from (
        json_array_elements_text(%s), json_array_elements_text(%s), json_array_elements_text(%s),
        json_array_elements_text(%s), json_array_elements_text(%s), json_array_elements_text(%s),
        json_array_elements_text(%s)
    ) as column_arrays (line, schema, version, attribute, entity, entity_version, entity_attribute)
)
""")
CHECK = sql.SQL("select line, about, value, problem from metl.check_mappings({})").format(LINES)
PLAN = sql.SQL("""
select schema, version, entity, entity_version, attribute, entity_attribute, fate, reason
from metl.plan_mappings({}, %s)
where fate <> 'kept'
order by schema collate "C", version, entity collate "C", fate desc, attribute collate "C"
""").format(LINES)
SET = sql.SQL("select metl.set_mappings({}, %s)").format(LINES)
SUMMARY = """
select (summary ->> 'blocks')::int, (summary ->> 'gained')::int, (summary ->> 'lost')::int
from metl.states where state = %s
"""
CONSEQUENCE = "so that nothing was changed"
#: The existing names of each kind, to suggest one for an unknown name; the parameters are the cells of its line.
CANDIDATES = {
    "schema": "select distinct schema from metl.schema_versions where deleted is null",
    "attribute": """
        select attribute from metl.schema_attributes where schema = %(schema)s and version::text = %(version)s
    """,
    "entity": "select entity from metl.entity_versions where deleted is null",
    "entity_attribute": """
        select entity_attribute from metl.entity_attributes
        where entity = %(entity)s and entity_version::text = %(entity_version)s
    """,
}


@dataclass(frozen=True)
class Applied:
    state: int
    blocks: int
    gained: int
    lost: int
    #: Notices that PostgreSQL raised meanwhile.
    remarks: list[str]


def plan(connection: psycopg.Connection, lines: Lines, replace: bool) -> list[dict[str, Any]]:
    """The cells that would be gained or lost, block by block."""
    with _all_or_nothing(connection, lines) as parameters, connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(PLAN, [*parameters, replace]).fetchall()


def apply(connection: psycopg.Connection, lines: Lines, replace: bool) -> Applied | None:
    """Set all blocks as one state; None if nothing changes."""
    remarks: list[str] = []
    connection.add_notice_handler(lambda notice: remarks.append(notice.message_primary or ""))
    with _all_or_nothing(connection, lines) as parameters:
        [state] = connection.execute(SET, [*parameters, replace]).fetchone() or [None]
    if state is None:
        return None
    row = connection.execute(SUMMARY, [state]).fetchone()
    assert row is not None
    blocks, gained, lost = row
    return Applied(state, blocks, gained, lost, remarks)


@contextlib.contextmanager
def _all_or_nothing(connection: psycopg.Connection, lines: Lines) -> Iterator[list[str]]:
    """Yields the parameters of LINES. If the statement rejects a line, raises every problem of the file at once."""
    if lines.problems:
        raise InvalidFiles(_problems(connection, lines), CONSEQUENCE)
    try:
        with connection.transaction():
            yield _parameters(lines)
    except psycopg.errors.InvalidParameterValue:
        # The error names only the first problem.
        if problems := _problems(connection, lines):
            raise InvalidFiles(problems, CONSEQUENCE) from None
        raise


def _problems(connection: psycopg.Connection, lines: Lines) -> list[Problem]:
    """Sorted by line; with suggestions if they are few, as each costs a query."""
    rows = connection.execute(CHECK, _parameters(lines)).fetchall()
    problems = list(lines.problems)
    for number, kind, value, message in rows:
        hint = _hint(connection, lines, number, kind, value) if len(rows) <= SHOWN else ""
        problems.append(Problem(lines.file, number, message + hint))
    return sorted(problems, key=lambda problem: problem.line or 0)


def _parameters(lines: Lines) -> list[str]:
    """One JSON array per column: psycopg takes longer to dump a long list as a PostgreSQL array."""
    return [json.dumps(column, ensure_ascii=False) for column in (lines.numbers, *lines.cells)]


def _hint(connection: psycopg.Connection, lines: Lines, number: int, kind: str | None, value: str) -> str:
    if kind not in CANDIDATES or not value:
        return ""
    index = lines.numbers.index(number)
    values = {column: cells[index] for column, cells in zip(COLUMNS, lines.cells, strict=True)}
    names = [row[0] for row in connection.execute(CANDIDATES[kind].encode(), values)]
    return nearest(value, names)
