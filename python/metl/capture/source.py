"""Connects to a connector's source database from this machine."""

import re
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from metl import config
from metl.errors import BadInput, MetlError
from metl.util.properties import read_properties

# ${file:<path>:<key>}, as Kafka's FileConfigProvider reads it.
REFERENCE = re.compile(r"\$\{file:(?P<path>.+):(?P<key>[^:}]+)\}")
CONNECT_TIMEOUT = 3


class LoginFailed(MetlError):
    """The source rejects the connector's user and password."""


def connect(settings: dict[str, str]) -> psycopg.Connection:
    """With the connector's own user and password if this machine can read it, so that a wrong one is noticed."""
    environment_dsn = _from_environment(settings)
    try:
        return psycopg.connect(environment_dsn or _from_settings(settings), connect_timeout=CONNECT_TIMEOUT)
    except psycopg.Error as error:
        message = " ".join(str(error).split())
        # libpq lists each address that it tried; the reason comes last.
        reason = re.sub(r"^.*(FATAL: +|failed: )", "", message).rstrip(".?")
        database, user = settings.get("database.dbname"), settings.get("database.user")
        where = f"{settings.get('database.hostname')}:{settings.get('database.port')}"
        who = (
            f"Nobody can log in to database {database} by {config.SOURCE_DSN}"
            if environment_dsn
            else (f"{user} cannot log in to database {database} at {where}")
        )
        raise LoginFailed(f"{who}: {reason}") from None


def _from_environment(settings: dict[str, str]) -> str | None:
    """METL_SOURCE_DSN if it names the connector's database. The host may differ from that in the settings."""
    dsn = config.source_dsn()
    try:
        is_same = dsn and conninfo_to_dict(dsn).get("dbname") == settings.get("database.dbname")
    except psycopg.ProgrammingError:
        raise LoginFailed(f"{config.SOURCE_DSN} is not an address that PostgreSQL can read") from None
    return dsn if is_same else None


def _from_settings(settings: dict[str, str]) -> str:
    """The connector's address and, if this machine can read it, password."""
    password = _password(settings.get("database.password", ""))
    return make_conninfo(
        host=settings.get("database.hostname"),
        port=settings.get("database.port", "5432"),
        dbname=settings.get("database.dbname", ""),
        user=settings.get("database.user"),
        **({"password": password} if password else {}),
    )


def _password(setting: str) -> str | None:
    """Null if only Kafka Connect can read it; ~/.pgpass may have it then."""
    reference = REFERENCE.fullmatch(setting)
    if reference is None:
        return None if setting.startswith("${") else setting or None
    try:
        passwords = {each.name: each.value for each in read_properties(Path(reference["path"]))}
    except (OSError, BadInput):
        return None
    return passwords.get(reference["key"])
