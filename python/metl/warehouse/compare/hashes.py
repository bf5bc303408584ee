"""Values as numbers of 64 bits, computed by the servers: equal where PostgreSQL calls the values equal.

So 1.10 is 1.1, -0 is 0, NaN is NaN, and JSON is compared by content.
"""

import psycopg
from psycopg import sql

from metl.errors import MetlError

#: The first version that can hash a row.
OLDEST = 14
#: What is hashed instead of the value. PostgreSQL takes a month for 30 days, which are not the same.
FORMS = {"text": '{} collate "C"', "interval": "{}::text"}
#: Where the databases have different encodings. Numbers inside JSON then are equal only if written alike.
UTF8_FORMS = FORMS | {"text": "convert_to({}, 'UTF8')", "jsonb": "convert_to({}::text, 'UTF8')"}
#: A value of every type that the warehouse has.
PROBE = """
select hash_record_extended(row(
    1::bigint, 1.5, 0.1::float8, true, 'key'::text collate "C", '\\x00ff'::bytea, date '2000-01-01', time '12:00',
    timestamptz '2000-01-01 00:00Z', '00112233-4455-6677-8899-aabbccddeeff'::uuid, '{"a": [1.5, null, true]}'::jsonb
), 0)
"""


def of(values: list[sql.Composable], types: list[str], *, same_encoding: bool) -> sql.Composable:
    """SQL for the hash of some values together."""
    forms = FORMS if same_encoding else UTF8_FORMS
    hashed = (sql.SQL(forms.get(kind, "{}")).format(value) for value, kind in zip(values, types, strict=True))
    return sql.SQL("hash_record_extended(row({}), 0)").format(sql.SQL(", ").join(hashed))


def require_alike(source: psycopg.Connection, warehouse: psycopg.Connection) -> None:
    """Raises if the two servers do not hash alike."""
    if source.info.server_version < OLDEST * 10_000:
        raise MetlError(
            f"The source is PostgreSQL {source.info.server_version // 10_000}; rows can be compared from {OLDEST} on."
        )
    if source.execute(PROBE).fetchall() != warehouse.execute(PROBE).fetchall():
        raise MetlError(
            "The two servers hash the same value differently, as PostgreSQL does on machines of another byte order. "
            "Compare with a copy of the source on a machine like the warehouse's."
        )


def same_encoding(source: psycopg.Connection, warehouse: psycopg.Connection) -> bool:
    return len({each.info.parameter_status("server_encoding") for each in (source, warehouse)}) == 1
