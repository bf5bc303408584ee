"""Names of tables in a connector's settings, where each is a regular expression."""

import re
from collections.abc import Iterable

from metl.errors import BadInput

# A dot also matches itself, so that it stays readable.
ORDINARY = re.compile(r"[^\\^$|?*+()\[\]{},]*")
# Before a letter or a digit, a backslash makes a class of characters.
ESCAPED = re.compile(r"\\([^A-Za-z0-9])")
PREFIX = re.compile(r"[A-Za-z0-9._-]+")
SEPARATOR = re.compile(r"(?<!\\),")


def parse(name: str) -> tuple[str, str]:
    """schema.table; what follows the first dot is the table's name as it is, without quotes."""
    schema, dot, table = name.partition(".")
    if not dot or not schema or not table:
        raise BadInput(f"{name!r} does not say in which schema the table is. Did you mean 'public.{name}'?")
    return schema, table


def pattern(name: str) -> str:
    """The entry of table.include.list that matches this table and, but for a dot, no other."""
    return name if ORDINARY.fullmatch(name) else re.sub(r"([\\^$|?*+()\[\]{},.])", r"\\\1", name)


def entries(settings: dict[str, str], setting: str = "table.include.list") -> list[str]:
    return [entry.strip() for entry in SEPARATOR.split(settings.get(setting, "")) if entry.strip()]


def table_of(entry: str) -> str | None:
    """The table that an entry names; null if it is a regular expression for several."""
    is_name = ORDINARY.fullmatch(ESCAPED.sub("", entry))
    return ESCAPED.sub(r"\1", entry) if is_name else None


def named(settings: dict[str, str]) -> list[str]:
    """The tables that table.include.list names one by one; others it finds by regular expressions."""
    return [name for entry in entries(settings) if (name := table_of(entry)) is not None]


def captured(settings: dict[str, str], tables: Iterable[str]) -> list[str]:
    """Those of the tables that the settings include. A name means that table only, though Debezium would take it for
    an expression that also matches others: those are not published."""
    exact = set(named(settings))
    wanted = [re.compile(entry, re.IGNORECASE) for entry in entries(settings) if table_of(entry) is None]
    return [name for name in tables if name in exact or any(each.fullmatch(name) for each in wanted)]


def topic(prefix: str, table: str) -> str:
    """Where the messages of a table come: Debezium writes an underscore for what Kafka does not take in a name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", f"{prefix}.{table}")


def require_prefix(prefix: str) -> str:
    """It becomes the name of a connector and of topics."""
    if not PREFIX.fullmatch(prefix):
        raise BadInput(f"{prefix!r} cannot begin the names of topics. Take letters, digits, dots, - and _ only.")
    return prefix
