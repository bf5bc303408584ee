"""Puts sql/ into a database: what `psql -f sql/install.sql` does, in one transaction."""

import re
from dataclasses import dataclass
from pathlib import Path

import psycopg

from metl import resources
from metl.database import connect
from metl.errors import BadInput, MetlError

OLDEST_SERVER = 15


@dataclass(frozen=True)
class Installed:
    database: str
    #: The migrations that were not there before.
    migrations: list[str]
    functions: int
    views: int


def files(script: Path) -> list[Path]:
    """The files that install.sql includes, in order."""
    return [script.parent / name for name in re.findall(r"^\\ir (\S+)$", script.read_text(), re.M)]


def install(dsn: str) -> Installed:
    with connect(dsn) as connection:
        version = connection.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise BadInput(f"This is PostgreSQL {version}. METL needs {OLDEST_SERVER} or newer.")
        before = _migrations(connection)
        for file in files(resources.path("sql") / "install.sql"):
            try:
                connection.execute(file.read_bytes())
            except psycopg.Error as error:
                raise MetlError(f"{file.name} failed, nothing was changed: {str(error).strip()}") from None
        after = _migrations(connection)
        return Installed(
            database=connection.info.dbname,
            migrations=[name for name in after if name not in before],
            functions=_count(connection, "select count(*) from pg_proc where pronamespace = 'metl'::regnamespace"),
            views=_count(
                connection,
                "select count(*) from pg_class where relnamespace = 'metl'::regnamespace and relkind = 'v'",
            ),
        )


def _migrations(connection: psycopg.Connection) -> list[str]:
    if _count(connection, "select count(*) from pg_tables where schemaname = 'metl' and tablename = 'migration'") == 0:
        return []
    return [row[0] for row in connection.execute("select name from metl.migration order by number")]


def _count(connection: psycopg.Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
