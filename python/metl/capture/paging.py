"""How a table's rows can be read while its changes are: by an incremental snapshot, or a blocking one.

An incremental snapshot pages through a table by its key. Debezium 3.6 hands the last key of a page back as it got it
from the driver, which for many types is text: PostgreSQL then finds no operator, and Debezium skips the table or its
task dies. Only what was tried is in the list. Not character(n): compared as text, its padding counts, and pages of a
composite key lose rows.
"""

import re
from collections.abc import Sequence

import psycopg

from metl.capture.names import captured
from metl.capture.tables import Table, capturable, find

#: Other names Debezium does not read in a signal for an incremental snapshot.
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z_][A-Za-z0-9_$]*")
#: Base types, also of domains; enums are handled by Debezium itself.
PAGED = frozenset(
    {
        "smallint", "integer", "bigint", "numeric", "real", "double precision", "boolean",
        "text", "character varying", "uuid", "date", "bytea", "inet", "cidr", "macaddr", "oid",
    }
)  # fmt: skip


def unpaged(table: Table) -> dict[str, str]:
    """The columns of the key that an incremental snapshot cannot page by, and the type of each."""
    return {
        name: kind for name, kind in table.key_types.items() if kind not in PAGED and table.columns[name]["kind"] != "e"
    }


def can_page(table: Table) -> bool:
    is_plain = PLAIN_NAME.fullmatch(table.name) is not None
    # A page would have rows of tables that inherit as well; a blocking snapshot takes a statement of ours.
    return bool(table.key) and not unpaged(table) and is_plain and not table.children


def with_generated(connection: psycopg.Connection, settings: dict[str, str], more: Sequence[Table] = ()) -> list[str]:
    """Tables of a connector that have generated columns before others.

    A blocking snapshot reads the columns of all tables anew from the catalog. The change stream, which has no generated
    ones, does not describe its tables again, and Debezium 3.6 takes their values by position: they would move to the
    columns before.
    """
    tables = {name: find(connection, name) for name in captured(settings, capturable(connection))}
    tables |= {each.name: each for each in more}
    return sorted(name for name, table in tables.items() if table is not None and table.has_generated_between)


def blocked(table: str, mixed_up: Sequence[str]) -> str:
    return (
        f"the rows of {table} can only be read while changes wait (a blocking snapshot), and after that Debezium mixes "
        f"up the columns of tables with generated columns before others: {', '.join(mixed_up)}"
    )
