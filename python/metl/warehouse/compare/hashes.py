"""64-bit hashes of values, computed by the servers: equal where PostgreSQL calls the values equal.

So 1.10 = 1.1, -0 = 0, NaN = NaN, and JSON is compared by content.
"""

import psycopg
from psycopg import sql

from metl.errors import MetlError

#: The first version with hash_record_extended.
MIN_VERSION = 14
#: Expressions to hash instead of the value. PostgreSQL calls a month and 30 days equal, which they are not.
HASHED = {"text": '{} collate "C"', "interval": "{}::text"}
#: For databases of different encodings. Numbers inside JSON are then equal only if their text is.
HASHED_UTF8 = HASHED | {"text": "convert_to({}, 'UTF8')", "jsonb": "convert_to({}::text, 'UTF8')"}
#: A value of every type that the warehouse uses.
PROBE = """
select hash_record_extended(row(
    1::bigint, 1.5, 0.1::float8, true, 'key'::text collate "C", '\\x00ff'::bytea, date '2000-01-01', time '12:00',
    timestamptz '2000-01-01 00:00Z', '00112233-4455-6677-8899-aabbccddeeff'::uuid, '{"a": [1.5, null, true]}'::jsonb
), 0)
"""


def hash_of(values: list[sql.Composable], types: list[str], *, same_encoding: bool) -> sql.Composable:
    """SQL for one hash of several values."""
    forms = HASHED if same_encoding else HASHED_UTF8
    hashed = (sql.SQL(forms.get(type_name, "{}")).format(value) for value, type_name in zip(values, types, strict=True))
    return sql.SQL("hash_record_extended(row({}), 0)").format(sql.SQL(", ").join(hashed))


def require_same_hashes(source: psycopg.Connection, warehouse: psycopg.Connection) -> None:
    """Raises if the two servers hash a value differently."""
    if source.info.server_version < MIN_VERSION * 10_000:
        raise MetlError(
            f"The source is PostgreSQL {source.info.server_version // 10_000}. "
            f"Rows can be compared from {MIN_VERSION} on."
        )
    if source.execute(PROBE).fetchall() != warehouse.execute(PROBE).fetchall():
        raise MetlError(
            "The two servers hash the same value differently, as PostgreSQL does on machines of another byte order. "
            "Compare with a copy of the source on a machine like the warehouse's."
        )


def same_encoding(source: psycopg.Connection, warehouse: psycopg.Connection) -> bool:
    return len({each.info.parameter_status("server_encoding") for each in (source, warehouse)}) == 1
