"""Casts of source columns to the generalized types of entities, in the SQL of each database.

A plain CAST, except where that would alter the value or does not exist. A time without a zone is UTC,
as in Debezium, whatever the time zone of the session.
"""

import functools
import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

# SQL types of the generalized types. Where one is missing, the column is not cast.
COMMON = {
    "integer": "BIGINT",
    "decimal": "DECIMAL(38, 18)",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "TEXT",
    "bytes": "VARBINARY",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMPTZ",
    "uuid": "UUID",
    "json": "JSON",
}
TYPES = {
    "postgres": COMMON | {"decimal": "DECIMAL", "bytes": "BYTEA", "json": "JSONB", "interval": "INTERVAL"},
    # DATETIME and TIME alone would drop fractions of seconds. There is no type with a zone: DATETIME in UTC.
    "mysql": COMMON
    | {"decimal": "DECIMAL(65, 30)", "boolean": "SIGNED", "string": "CHAR", "bytes": "BINARY", "uuid": "CHAR"}
    | {"time": "TIME(6)", "timestamp": "DATETIME(6)"},
    "oracle": COMMON
    | {"integer": "NUMBER(38)", "decimal": "NUMBER", "float": "DOUBLE PRECISION", "boolean": "NUMBER(1)"}
    | {"string": "VARCHAR2(4000)", "bytes": "BLOB", "time": "VARCHAR2(4000)", "uuid": "VARCHAR2(36)"}
    | {"timestamp": "TIMESTAMP(9) WITH TIME ZONE", "json": "VARCHAR2(4000)"},
    "tsql": COMMON
    | {"float": "FLOAT", "boolean": "BIT", "string": "NVARCHAR(MAX)", "bytes": "VARBINARY(MAX)"}
    | {"timestamp": "DATETIMEOFFSET", "uuid": "UNIQUEIDENTIFIER", "json": "NVARCHAR(MAX)"},
    "snowflake": COMMON | {"string": "VARCHAR", "uuid": "VARCHAR", "json": "VARIANT"},
    "bigquery": COMMON | {"decimal": "BIGNUMERIC", "bytes": "BYTES", "uuid": "STRING", "interval": "INTERVAL"},
    "spark": COMMON
    | {"bytes": "BINARY", "time": "STRING", "timestamp": "TIMESTAMP", "uuid": "STRING", "json": "STRING"},
    "duckdb": COMMON | {"interval": "INTERVAL"},
}

# Kinds of source types that need another cast than others of their generalized type.
ZONED, ZONED_TIME, PADDED, ADDRESS, BITS = "zoned", "zoned time", "padded", "address", "bits"
SINGLE, DOCUMENT = "single precision", "document"
KINDS = {
    "timestamptz": ZONED,
    "timestamp with time zone": ZONED,
    "timestamp with local time zone": ZONED,
    "datetimeoffset": ZONED,
    "date-time": ZONED,
    "io.debezium.time.zonedtimestamp": ZONED,
    "timetz": ZONED_TIME,
    "time with time zone": ZONED_TIME,
    "io.debezium.time.zonedtime": ZONED_TIME,
    "char": PADDED,
    "character": PADDED,
    "bpchar": PADDED,
    "inet": ADDRESS,
    "bit": BITS,
    "varbit": BITS,
    "bit varying": BITS,
    "io.debezium.data.bits": BITS,
    # As Kafka Connect and Avro name it, with 32 bits.
    "float": SINGLE,
    "float4": SINGLE,
    "float32": SINGLE,
    "real": SINGLE,
    # METL's converter sends arrays as JSON documents, too.
    "io.debezium.data.json": DOCUMENT,
}

NO_CAST = "x"
# Matches text that ends with a zone, which a cast to a time without one would drop.
ZONE = ":.*(Z|[+-][0-9:]+)$"
POSTGRES_UTC = "CAST(x AS TIMESTAMP) AT TIME ZONE 'UTC'"
# AT TIME ZONE would start from the session's zone.
ORACLE_UTC = "FROM_TZ(CAST(x AS TIMESTAMP(9)), 'UTC')"
SNOWFLAKE_UTC = (
    "TO_TIMESTAMP_TZ(TO_CHAR(CAST(x AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF9') || ' +0000', "
    "'YYYY-MM-DD HH24:MI:SS.FF9 TZHTZM')"
)
BIGQUERY_UTC = "TIMESTAMP(CAST(x AS DATETIME), 'UTC')"
SPARK_UTC = "CAST(CAST(CAST(x AS TIMESTAMP_NTZ) AS STRING) || 'Z' AS TIMESTAMP)"

# Expressions for column x instead of a plain cast, by (kind or generalized type, generalized type).
CASTS = {
    "postgres": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMPTZ)",
        ("timestamp", "timestamp"): POSTGRES_UTC,
        ("date", "timestamp"): POSTGRES_UTC,
        ("string", "timestamp"): f"CAST(CASE WHEN x ~ '{ZONE}' THEN x ELSE x || 'Z' END AS TIMESTAMPTZ)",
        (ZONED_TIME, "time"): "CAST(x AT TIME ZONE 'UTC' AS TIME)",
        # A cast keeps 15 digits of a float, drops the blanks of a char and adds /32 to an address.
        ("float", "decimal"): "CAST(CAST(x AS TEXT) AS DECIMAL)",
        (PADDED, "string"): "CASE WHEN NOT x IS NULL THEN FORMAT('%s', x) END",
        (ADDRESS, "string"): "ABBREV(x)",
        (BITS, "bytes"): NO_CAST,
        # Through text, 1.1 stays 1.1; a cast would give 1.100000023841858.
        (SINGLE, "float"): "CAST(CAST(x AS TEXT) AS DOUBLE PRECISION)",
        (DOCUMENT, "json"): "TO_JSONB(x)",
        (DOCUMENT, "array"): "TO_JSONB(x)",
        (DOCUMENT, "object"): "TO_JSONB(x)",
        (DOCUMENT, "any"): "TO_JSONB(x)",
    },
    "mysql": {
        (ZONED, "timestamp"): "CAST('1970-01-01' AS DATETIME(6)) + INTERVAL (UNIX_TIMESTAMP(x)) SECOND",
        # A cast makes large unsigned numbers negative and fits text to the connection's character set.
        ("integer", "integer"): NO_CAST,
        ("decimal", "decimal"): NO_CAST,
        ("string", "string"): NO_CAST,
    },
    "oracle": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP(9) WITH TIME ZONE)",
        ("timestamp", "timestamp"): ORACLE_UTC,
        ("date", "timestamp"): ORACLE_UTC,
        # Oracle's DOUBLE PRECISION is a decimal number, and CAST supports no LOB type for long values.
        ("float", "float"): NO_CAST,
        ("string", "string"): NO_CAST,
        ("string", "json"): NO_CAST,
        ("json", "json"): NO_CAST,
        ("json", "string"): NO_CAST,
        ("bytes", "bytes"): NO_CAST,
    },
    "tsql": {
        ("decimal", "decimal"): NO_CAST,
        # A cast keeps 6 digits.
        ("float", "string"): "CONVERT(NVARCHAR(MAX), x, 3)",
    },
    "snowflake": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP_TZ)",
        ("timestamp", "timestamp"): SNOWFLAKE_UTC,
        ("date", "timestamp"): SNOWFLAKE_UTC,
        ("string", "timestamp"): f"CAST(IFF(REGEXP_LIKE(x, '.*{ZONE}'), x, x || 'Z') AS TIMESTAMP_TZ)",
        ("decimal", "decimal"): NO_CAST,
        ("string", "json"): "PARSE_JSON(x)",
    },
    "bigquery": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP)",
        ("timestamp", "timestamp"): BIGQUERY_UTC,
        ("date", "timestamp"): BIGQUERY_UTC,
        ("string", "json"): "PARSE_JSON(x)",
        ("json", "string"): "TO_JSON_STRING(x)",
    },
    "spark": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP)",
        ("timestamp", "timestamp"): SPARK_UTC,
        ("date", "timestamp"): SPARK_UTC,
        ("string", "timestamp"): f"CAST(CASE WHEN x RLIKE '{ZONE}' THEN x ELSE x || 'Z' END AS TIMESTAMP)",
        ("decimal", "decimal"): NO_CAST,
    },
    "duckdb": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMPTZ)",
        ("timestamp", "timestamp"): POSTGRES_UTC,
        ("date", "timestamp"): POSTGRES_UTC,
        ("string", "timestamp"): f"CAST(CASE WHEN REGEXP_MATCHES(x, '{ZONE}') THEN x ELSE x || 'Z' END AS TIMESTAMPTZ)",
        (ZONED_TIME, "time"): "CAST(x AT TIME ZONE 'UTC' AS TIME)",
        ("decimal", "decimal"): NO_CAST,
        # A cast would write out the binary fraction.
        ("float", "decimal"): "CAST(CAST(x AS TEXT) AS DECIMAL(38, 18))",
    },
}


# Casts, between generalized types, that may lose digits or parts of a value.
LOSSY_CASTS = {
    ("decimal", "integer"),
    ("float", "integer"),
    ("float", "decimal"),
    ("decimal", "float"),
    ("integer", "float"),
    ("timestamp", "date"),
    ("timestamp", "time"),
    ("interval", "time"),
}


@dataclass(frozen=True)
class Source:
    """An attribute of a schema version: a column of its table."""

    name: str
    source_type: str
    generalized_type: str


def null(target: str, dialect: str) -> exp.Expr:
    return _parse(_plain_cast("NULL", target, dialect), dialect).copy()


def cast(source: Source, target: str, dialect: str) -> exp.Expr:
    casts = CASTS[dialect]
    expression = (
        casts.get((_kind(source, dialect), target))
        or casts.get((source.generalized_type, target))
        or _plain_cast("x", target, dialect)
    )
    column = exp.column(exp.to_identifier(source.name, quoted=True))
    return _parse(expression, dialect).transform(lambda node: column.copy() if isinstance(node, exp.Column) else node)


def _kind(source: Source, dialect: str) -> str:
    # Drops the precision: timestamp(6) with time zone is timestamp with time zone.
    name = re.sub(r"\s*\([^)]*\)", "", source.source_type).strip().lower()
    if dialect == "mysql" and name == "timestamp":
        return ZONED  # unlike MySQL's datetime
    return KINDS.get(name, "")


def _plain_cast(value: str, target: str, dialect: str) -> str:
    return f"CAST({value} AS {TYPES[dialect][target]})" if target in TYPES[dialect] else value


@functools.cache
def _parse(expression: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(expression, dialect=dialect)
