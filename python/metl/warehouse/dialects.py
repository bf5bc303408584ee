"""How a value of a schema becomes one of an entity, in the SQL of each database.

A plain cast, except where that would alter the value or is not there. A time without a zone is UTC,
as in Debezium, whatever zone the session is in.
"""

import functools
import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

# The generalized types that databases have a type for. Where one is missing, the column stays as it is.
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

# Source types that a cast treats differently from others of their generalized type.
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
    # METL's converter writes arrays as documents, too.
    "io.debezium.data.json": DOCUMENT,
}

AS_IT_IS = "x"
# Text may end with a zone, which a cast to a time without one would drop.
ZONE = ":.*(Z|[+-][0-9:]+)$"
POSTGRES_MOMENT = "CAST(x AS TIMESTAMP) AT TIME ZONE 'UTC'"
# AT TIME ZONE would start from the session's zone.
ORACLE_MOMENT = "FROM_TZ(CAST(x AS TIMESTAMP(9)), 'UTC')"
SNOWFLAKE_MOMENT = (
    "TO_TIMESTAMP_TZ(TO_CHAR(CAST(x AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF9') || ' +0000', "
    "'YYYY-MM-DD HH24:MI:SS.FF9 TZHTZM')"
)
BIGQUERY_MOMENT = "TIMESTAMP(CAST(x AS DATETIME), 'UTC')"
SPARK_MOMENT = "CAST(CAST(CAST(x AS TIMESTAMP_NTZ) AS STRING) || 'Z' AS TIMESTAMP)"

# What is done with column x instead of a plain cast, from a kind, or else a generalized type, to a generalized type.
FORMS = {
    "postgres": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMPTZ)",
        ("timestamp", "timestamp"): POSTGRES_MOMENT,
        ("date", "timestamp"): POSTGRES_MOMENT,
        ("string", "timestamp"): f"CAST(CASE WHEN x ~ '{ZONE}' THEN x ELSE x || 'Z' END AS TIMESTAMPTZ)",
        (ZONED_TIME, "time"): "CAST(x AT TIME ZONE 'UTC' AS TIME)",
        # A cast keeps 15 digits of a float, drops the blanks of a char and adds /32 to an address.
        ("float", "decimal"): "CAST(CAST(x AS TEXT) AS DECIMAL)",
        (PADDED, "string"): "CASE WHEN NOT x IS NULL THEN FORMAT('%s', x) END",
        (ADDRESS, "string"): "ABBREV(x)",
        (BITS, "bytes"): AS_IT_IS,
        # 1.1 is 1.1, and not the nearest number of 24 bits with 53.
        (SINGLE, "float"): "CAST(CAST(x AS TEXT) AS DOUBLE PRECISION)",
        (DOCUMENT, "json"): "TO_JSONB(x)",
        (DOCUMENT, "array"): "TO_JSONB(x)",
        (DOCUMENT, "object"): "TO_JSONB(x)",
        (DOCUMENT, "any"): "TO_JSONB(x)",
    },
    "mysql": {
        (ZONED, "timestamp"): "CAST('1970-01-01' AS DATETIME(6)) + INTERVAL (UNIX_TIMESTAMP(x)) SECOND",
        # A cast makes large unsigned numbers negative and fits text to the connection's character set.
        ("integer", "integer"): AS_IT_IS,
        ("decimal", "decimal"): AS_IT_IS,
        ("string", "string"): AS_IT_IS,
    },
    "oracle": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP(9) WITH TIME ZONE)",
        ("timestamp", "timestamp"): ORACLE_MOMENT,
        ("date", "timestamp"): ORACLE_MOMENT,
        # DOUBLE PRECISION is a decimal number, and what is large fits into no type that can be cast to.
        ("float", "float"): AS_IT_IS,
        ("string", "string"): AS_IT_IS,
        ("string", "json"): AS_IT_IS,
        ("json", "json"): AS_IT_IS,
        ("json", "string"): AS_IT_IS,
        ("bytes", "bytes"): AS_IT_IS,
    },
    "tsql": {
        ("decimal", "decimal"): AS_IT_IS,
        # A cast keeps 6 digits.
        ("float", "string"): "CONVERT(NVARCHAR(MAX), x, 3)",
    },
    "snowflake": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP_TZ)",
        ("timestamp", "timestamp"): SNOWFLAKE_MOMENT,
        ("date", "timestamp"): SNOWFLAKE_MOMENT,
        ("string", "timestamp"): f"CAST(IFF(REGEXP_LIKE(x, '.*{ZONE}'), x, x || 'Z') AS TIMESTAMP_TZ)",
        ("decimal", "decimal"): AS_IT_IS,
        ("string", "json"): "PARSE_JSON(x)",
    },
    "bigquery": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP)",
        ("timestamp", "timestamp"): BIGQUERY_MOMENT,
        ("date", "timestamp"): BIGQUERY_MOMENT,
        ("string", "json"): "PARSE_JSON(x)",
        ("json", "string"): "TO_JSON_STRING(x)",
    },
    "spark": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMP)",
        ("timestamp", "timestamp"): SPARK_MOMENT,
        ("date", "timestamp"): SPARK_MOMENT,
        ("string", "timestamp"): f"CAST(CASE WHEN x RLIKE '{ZONE}' THEN x ELSE x || 'Z' END AS TIMESTAMP)",
        ("decimal", "decimal"): AS_IT_IS,
    },
    "duckdb": {
        (ZONED, "timestamp"): "CAST(x AS TIMESTAMPTZ)",
        ("timestamp", "timestamp"): POSTGRES_MOMENT,
        ("date", "timestamp"): POSTGRES_MOMENT,
        ("string", "timestamp"): f"CAST(CASE WHEN REGEXP_MATCHES(x, '{ZONE}') THEN x ELSE x || 'Z' END AS TIMESTAMPTZ)",
        (ZONED_TIME, "time"): "CAST(x AT TIME ZONE 'UTC' AS TIME)",
        ("decimal", "decimal"): AS_IT_IS,
        # A cast would spell the binary fraction out.
        ("float", "decimal"): "CAST(CAST(x AS TEXT) AS DECIMAL(38, 18))",
    },
}


# What no cast can carry over whole.
NARROWING = {
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
    return _parsed(_cast("NULL", target, dialect), dialect).copy()


def converted(source: Source, target: str, dialect: str) -> exp.Expr:
    forms = FORMS[dialect]
    form = (
        forms.get((_kind(source, dialect), target))
        or forms.get((source.generalized_type, target))
        or _cast("x", target, dialect)
    )
    column = exp.column(exp.to_identifier(source.name, quoted=True))
    return _parsed(form, dialect).transform(lambda node: column.copy() if isinstance(node, exp.Column) else node)


def _kind(source: Source, dialect: str) -> str:
    # timestamp(6) with time zone is timestamp with time zone, and case does not matter.
    name = re.sub(r"\s*\([^)]*\)", "", source.source_type).strip().lower()
    if dialect == "mysql" and name == "timestamp":
        return ZONED  # unlike MySQL's datetime
    return KINDS.get(name, "")


def _cast(value: str, target: str, dialect: str) -> str:
    return f"CAST({value} AS {TYPES[dialect][target]})" if target in TYPES[dialect] else value


@functools.cache
def _parsed(form: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(form, dialect=dialect)
