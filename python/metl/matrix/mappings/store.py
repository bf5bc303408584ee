"""Lines to the matrix: checked, planned, set."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from metl.matrix.mappings.cells import COLUMNS
from metl.matrix.mappings.read import Lines
from metl.util.nearest import nearest
from metl.util.problems import SHOWN, Problem, Wrong

LINES = sql.SQL("""
array(
    select (line::int, schema, version, attribute, entity, entity_version, entity_attribute)::metl.mapping_line
    from rows from (
        json_array_elements_text(%s), json_array_elements_text(%s), json_array_elements_text(%s),
        json_array_elements_text(%s), json_array_elements_text(%s), json_array_elements_text(%s),
        json_array_elements_text(%s)
    ) as given (line, schema, version, attribute, entity, entity_version, entity_attribute)
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
#: What there is instead of something unknown; each looks at the values of its line.
KNOWN = {
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
class Stored:
    state: int
    blocks: int
    gained: int
    lost: int
    #: What the matrix had to say of them.
    remarks: list[str]


def plan(connection: psycopg.Connection, lines: Lines, replace: bool) -> list[dict[str, Any]]:
    """The cells that would be gained or lost, block by block."""
    with _all_or_nothing(connection, lines) as given, connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(PLAN, [*given, replace]).fetchall()


def store(connection: psycopg.Connection, lines: Lines, replace: bool) -> Stored | None:
    """All as one state; none if all was so already."""
    remarks: list[str] = []
    connection.add_notice_handler(lambda notice: remarks.append(notice.message_primary or ""))
    with _all_or_nothing(connection, lines) as given:
        [state] = connection.execute(SET, [*given, replace]).fetchone() or [None]
    if state is None:
        return None
    row = connection.execute(SUMMARY, [state]).fetchone()
    assert row is not None
    blocks, gained, lost = row
    return Stored(state, blocks, gained, lost, remarks)


@contextlib.contextmanager
def _all_or_nothing(connection: psycopg.Connection, lines: Lines) -> Iterator[list[str]]:
    """The parameters of a statement that takes lines; if some are wrong, all that is wrong."""
    if lines.problems:
        raise Wrong(_problems(connection, lines), CONSEQUENCE)
    try:
        with connection.transaction():
            yield _parameters(lines)
    except psycopg.errors.InvalidParameterValue:
        # It names the first only.
        if problems := _problems(connection, lines):
            raise Wrong(problems, CONSEQUENCE) from None
        raise


def _problems(connection: psycopg.Connection, lines: Lines) -> list[Problem]:
    """By line; if they are few, with what may have been meant."""
    found = connection.execute(CHECK, _parameters(lines)).fetchall()
    problems = list(lines.problems)
    for number, about, value, said in found:
        hint = _hint(connection, lines, number, about, value) if len(found) <= SHOWN else ""
        problems.append(Problem(lines.file, number, said + hint))
    return sorted(problems, key=lambda problem: problem.line or 0)


def _parameters(lines: Lines) -> list[str]:
    """Column by column, as JSON: of many lines, arrays would take longer to write down than to be looked up."""
    return [json.dumps(column, ensure_ascii=False) for column in (lines.numbers, *lines.cells)]


def _hint(connection: psycopg.Connection, lines: Lines, number: int, about: str | None, value: str) -> str:
    if about not in KNOWN or not value:
        return ""
    place = lines.numbers.index(number)
    values = {column: cells[place] for column, cells in zip(COLUMNS, lines.cells, strict=True)}
    names = [row[0] for row in connection.execute(KNOWN[about].encode(), values)]
    return nearest(value, names)
