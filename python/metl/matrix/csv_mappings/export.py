"""Export the matrix as CSV."""

from typing import BinaryIO

import psycopg
from psycopg import sql

from metl.errors import BadInput
from metl.matrix.csv_mappings.apply import CANDIDATES
from metl.matrix.csv_mappings.format import APOSTROPHE, COLUMNS, FORMULA, TEXT_COLUMNS
from metl.util.nearest import nearest

# Names are quoted, so that a spreadsheet that expects semicolons does not split a name at one.
EXPORT = sql.SQL("""
copy (
    select {cells}
    from metl.decompaction as one
    where {condition}
    order by
        one.schema collate "C", one.version, one.entity collate "C", one.entity_version, one.attribute collate "C"
) to stdout (format csv, header, force_quote ({names}), encoding 'UTF8')
""")


def export(
    connection: psycopg.Connection, output: BinaryIO, schema: str | None = None, entity: str | None = None
) -> None:
    """Write every 1 of the current matrix, or those of one schema or entity, sorted."""
    filters = {name: value for name, value in (("schema", schema), ("entity", entity)) if value is not None}
    for name, value in filters.items():
        _require(connection, name, value)
    conditions = [sql.SQL("one.{} = {}").format(sql.Identifier(name), value) for name, value in filters.items()]
    query = EXPORT.format(
        cells=sql.SQL(", ").join(map(_cell, COLUMNS)),
        condition=sql.SQL(" and ").join([sql.SQL("true"), *conditions]),
        names=sql.SQL(", ").join(map(sql.Identifier, TEXT_COLUMNS)),
    )
    with connection.cursor().copy(query) as rows:
        for chunk in rows:
            output.write(chunk)


def _require(connection: psycopg.Connection, kind: str, name: str) -> None:
    names = [row[0] for row in connection.execute(CANDIDATES[kind].encode())]
    if name not in names:
        raise BadInput(f"There is no {kind} {name!r}.{nearest(name, names)}")


def _cell(column: str) -> sql.Composable:
    if column not in TEXT_COLUMNS:
        return sql.SQL("one.{}").format(sql.Identifier(column))
    return sql.SQL(
        "case when strpos({escaped}, left({cell}, 1)) > 0 then {apostrophe} || {cell} else {cell} end as {name}"
    ).format(
        escaped=FORMULA + APOSTROPHE,
        apostrophe=APOSTROPHE,
        cell=sql.SQL("one.{}").format(sql.Identifier(column)),
        name=sql.Identifier(column),
    )
