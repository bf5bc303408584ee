"""The key of a row as Debezium's messages have it, computed by SQL in its own database."""

import psycopg
from psycopg import sql

from metl.errors import BadInput

#: The columns of a table's primary key in order; those of a domain with its base type.
COLUMNS = """
with recursive base as (
    select attribute.attname, attribute.atttypid as type, attribute.atttypmod as modifier,
        array_position(key.conkey, attribute.attnum) as place
    from pg_constraint as key
    inner join pg_attribute as attribute on key.conrelid = attribute.attrelid and attribute.attnum = any(key.conkey)
    where key.conrelid = to_regclass(%s) and key.contype = 'p'
    union all
    select base.attname, domain.typbasetype, greatest(base.modifier, domain.typtypmod), base.place
    from base inner join pg_type as domain on base.type = domain.oid and domain.typtype = 'd'
)

select base.attname, case type.typtype when 'e' then 'enum' when 'r' then 'range' else type.typname end, base.modifier,
    format_type(base.type, base.modifier)
from base inner join pg_type as type on base.type = type.oid and type.typtype <> 'd'
order by base.place
"""
MICROSECONDS = "(extract(epoch from {0}) * 1000000)::bigint"
MILLISECONDS = "(extract(epoch from {0}) * 1000)::bigint"
# Infinite dates are sent as numbers outside of PostgreSQL's range; see sql/decoding/_source_value_sql.sql.
DAYS = "case when isfinite({0}) then {0} - date 'epoch' when {0} > date 'epoch' then -2147472692 else -2147472691 end"
TIMESTAMP = (
    "case when isfinite({0}) then {1} when {0} > timestamp 'epoch' then 9223372036825200000 / {2} "
    "else -9223372036832400000 / {2} end"
)
# ISO 8601 has a year 0, and a sign before years that do not have four digits.
TIMESTAMP_WITH_ZONE = (
    "case when isfinite({0}) then (select case when year > 9999 then '+' || year when year < 0 then '-' || "
    "lpad((-year)::text, 4, '0') else lpad(year::text, 4, '0') end from (select year + (year < 0)::int as year "
    "from (select extract(year from {0} at time zone 'UTC')::int as year) as era) as iso) || "
    "to_char({0} at time zone 'UTC', '-MM-DD\"T\"HH24:MI:SS{1}\"Z\"') else {0}::text end"
)
#: SQL expressions by the type's name in pg_type.
KEY_EXPRESSIONS = (
    dict.fromkeys(("int2", "int4", "int8", "bool", "text", "varchar", "name"), "{0}")
    | dict.fromkeys(("uuid", "enum", "range", "numeric", "bit", "varbit", "cidr", "macaddr", "macaddr8"), "{0}::text")
    | {
        "char": "{0}::text",
        "oid": "{0}::bigint",
        "money": "{0}::numeric::text",
        # A cast to text would drop the blanks, and add /32 to an address.
        "bpchar": "concat({0})",
        "inet": "abbrev({0})",
        "bytea": "translate(encode({0}, 'base64'), e'\\n', '')",
        "date": DAYS,
    }
)


def key_columns(rows: psycopg.Connection, table: str) -> list[tuple[str, str, int, str]]:
    """Name, base type, type modifier and full type of each column of the primary key."""
    return rows.execute(COLUMNS, [table]).fetchall()


def key_expression(rows: psycopg.Connection, table: str) -> sql.Composable:
    """SQL for the key of a row as messages have it; `table` is a quoted name."""
    columns = key_columns(rows, table)
    if not columns:
        raise BadInput(f"There is no table {table} with a primary key in this database: nothing tells its rows apart.")
    parts = []
    for column, kind, modifier, full_type in columns:
        expression = _column_expression(kind, modifier)
        if expression is None:
            raise BadInput(
                f"The primary key of {table} has {column} of type {full_type}, whose form in messages is not known. "
                "Load it by messages: metl capture snapshot, or metl load"
            )
        value = sql.SQL(expression).format(sql.Identifier(column))
        parts.append(sql.SQL("{}, {}").format(sql.Literal(column), value))
    return sql.SQL("jsonb_build_object({})").format(sql.SQL(", ").join(parts))


def _column_expression(kind: str, modifier: int) -> str | None:
    digits = 6 if modifier < 0 else modifier
    # Debezium sends up to three fractional digits as milliseconds, more as microseconds.
    units, per_unit = (MILLISECONDS, "1000") if digits <= 3 else (MICROSECONDS, "1")
    if kind == "time":
        return units
    if kind == "timestamp":
        return TIMESTAMP.replace("{1}", units).replace("{2}", per_unit)
    if kind == "timestamptz":
        return TIMESTAMP_WITH_ZONE.replace("{1}", f".FF{digits}" if digits else "")
    return KEY_EXPRESSIONS.get(kind)
