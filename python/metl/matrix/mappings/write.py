"""The matrix to a file."""

from typing import BinaryIO

import psycopg
from psycopg import sql

from metl.errors import BadInput
from metl.matrix.mappings.cells import APOSTROPHE, COLUMNS, FORMULA, NAMES
from metl.matrix.mappings.store import KNOWN
from metl.util.nearest import nearest

# Names are in quotes, so that a spreadsheet that expects semicolons makes no cells of what they separate.
EXPORT = sql.SQL("""
copy (
    select {cells}
    from metl.decompaction as one
    where {condition}
    order by
        one.schema collate "C", one.version, one.entity collate "C", one.entity_version, one.attribute collate "C"
) to stdout (format csv, header, force_quote ({names}), encoding 'UTF8')
""")


def write(
    connection: psycopg.Connection, output: BinaryIO, schema: str | None = None, entity: str | None = None
) -> None:
    """Every 1 of the current matrix, or those of one schema or entity, sorted."""
    wanted = {name: value for name, value in (("schema", schema), ("entity", entity)) if value is not None}
    for name, value in wanted.items():
        _require(connection, name, value)
    conditions = [sql.SQL("one.{} = {}").format(sql.Identifier(name), value) for name, value in wanted.items()]
    query = EXPORT.format(
        cells=sql.SQL(", ").join(map(_cell, COLUMNS)),
        condition=sql.SQL(" and ").join([sql.SQL("true"), *conditions]),
        names=sql.SQL(", ").join(map(sql.Identifier, NAMES)),
    )
    with connection.cursor().copy(query) as rows:
        for chunk in rows:
            output.write(chunk)


def _require(connection: psycopg.Connection, about: str, name: str) -> None:
    known = [row[0] for row in connection.execute(KNOWN[about].encode())]
    if name not in known:
        raise BadInput(f"There is no {about} {name!r}.{nearest(name, known)}")


def _cell(column: str) -> sql.Composable:
    if column not in NAMES:
        return sql.SQL("one.{}").format(sql.Identifier(column))
    return sql.SQL(
        "case when strpos({escaped}, left({cell}, 1)) > 0 then {apostrophe} || {cell} else {cell} end as {name}"
    ).format(
        escaped=FORMULA + APOSTROPHE,
        apostrophe=APOSTROPHE,
        cell=sql.SQL("one.{}").format(sql.Identifier(column)),
        name=sql.Identifier(column),
    )
