"""Table names in a connector's settings, where each entry is a regular expression."""

import re
from collections.abc import Iterable

from metl.errors import BadInput

# A dot counts as literal: it matches itself, and unescaped it stays readable.
LITERAL = re.compile(r"[^\\^$|?*+()\[\]{},]*")
# A backslash before a letter or a digit denotes a character class instead.
ESCAPED = re.compile(r"\\([^A-Za-z0-9])")
PREFIX = re.compile(r"[A-Za-z0-9._-]+")
SEPARATOR = re.compile(r"(?<!\\),")


def parse(name: str) -> tuple[str, str]:
    """Splits schema.table at the first dot; neither is quoted."""
    schema, dot, table = name.partition(".")
    if not dot or not schema or not table:
        raise BadInput(f"{name!r} does not say in which schema the table is. Did you mean 'public.{name}'?")
    return schema, table


def name_pattern(name: str) -> str:
    """The entry of table.include.list for this table; an unescaped dot in it matches any character."""
    return name if LITERAL.fullmatch(name) else re.sub(r"([\\^$|?*+()\[\]{},.])", r"\\\1", name)


def entries(settings: dict[str, str], setting: str = "table.include.list") -> list[str]:
    return [entry.strip() for entry in SEPARATOR.split(settings.get(setting, "")) if entry.strip()]


def table_of(entry: str) -> str | None:
    """The table that an entry names literally; null if it is a regular expression."""
    is_literal = LITERAL.fullmatch(ESCAPED.sub("", entry))
    return ESCAPED.sub(r"\1", entry) if is_literal else None


def listed_tables(settings: dict[str, str]) -> list[str]:
    """The tables that table.include.list names literally, not by regular expressions."""
    return [name for entry in entries(settings) if (name := table_of(entry)) is not None]


def captured_tables(settings: dict[str, str], tables: Iterable[str]) -> list[str]:
    """Those of the tables that the settings include. A literal entry counts for its own table only: others that it
    matches as a regular expression are not published."""
    listed = set(listed_tables(settings))
    patterns = [re.compile(entry, re.IGNORECASE) for entry in entries(settings) if table_of(entry) is None]
    return [name for name in tables if name in listed or any(each.fullmatch(name) for each in patterns)]


def topic_name(prefix: str, table: str) -> str:
    """The topic of a table. Like Debezium, replaces characters that Kafka does not allow by an underscore."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", f"{prefix}.{table}")


def require_prefix(prefix: str) -> str:
    """Raises unless it can be the name of a connector and begin those of topics."""
    if not PREFIX.fullmatch(prefix):
        raise BadInput(f"{prefix!r} cannot begin the names of topics. Take letters, digits, dots, - and _ only.")
    return prefix
