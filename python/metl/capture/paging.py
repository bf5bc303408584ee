"""Whether a table can be read by an incremental snapshot, beside its changes, or only by a blocking one.

An incremental snapshot pages through a table by its key. Debezium 3.6 passes the last key of a page back as the driver
returned it, which for many types is text: PostgreSQL then finds no operator, and Debezium skips the table or its task
fails. PAGEABLE_TYPES has only types that were tested. character(n) is not among them: compared as text, its padding
counts, and pages of a composite key lose rows.
"""

import re
from collections.abc import Sequence

import psycopg

from metl.capture.names import captured_tables
from metl.capture.tables import Table, capturable_tables, find_table

#: Debezium does not parse other names in a signal for an incremental snapshot.
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z_][A-Za-z0-9_$]*")
#: Base types, also of domains; enums are supported without being listed.
PAGEABLE_TYPES = frozenset(
    {
        "smallint", "integer", "bigint", "numeric", "real", "double precision", "boolean",
        "text", "character varying", "uuid", "date", "bytea", "inet", "cidr", "macaddr", "oid",
    }
)  # fmt: skip


def unpageable_columns(table: Table) -> dict[str, str]:
    """The key columns that an incremental snapshot cannot page by, and their types."""
    return {
        name: kind
        for name, kind in table.key_types.items()
        if kind not in PAGEABLE_TYPES and table.columns[name]["kind"] != "e"
    }


def can_page(table: Table) -> bool:
    is_plain = PLAIN_NAME.fullmatch(table.name) is not None
    # Pages would include rows of inheriting tables; for a blocking snapshot METL sets a statement with `only`.
    return bool(table.key) and not unpageable_columns(table) and is_plain and not table.children


def misaligned_tables(
    connection: psycopg.Connection, settings: dict[str, str], more: Sequence[Table] = ()
) -> list[str]:
    """Tables of a connector with generated columns before others, which a blocking snapshot would misalign.

    A blocking snapshot makes Debezium 3.6 read the columns of all tables from the catalog again. The change stream has
    no generated columns and does not repeat its table descriptions, but its values are matched by position: they would
    shift to the columns before.
    """
    tables = {name: find_table(connection, name) for name in captured_tables(settings, capturable_tables(connection))}
    tables |= {each.name: each for each in more}
    return sorted(name for name, table in tables.items() if table is not None and table.has_column_after_generated)


def blocking_refusal(table: str, misaligned: Sequence[str]) -> str:
    return (
        f"the rows of {table} can only be read while changes wait (a blocking snapshot), and after that Debezium mixes "
        f"up the columns of tables with generated columns before others: {', '.join(misaligned)}"
    )
