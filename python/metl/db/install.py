"""Puts sql/ into a database: what `psql -f sql/install.sql` does, in one transaction."""

import random
import re
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import errors

from metl.db.connection import connect
from metl.errors import BadInput, MetlError
from metl.util import resources

OLDEST_SERVER = 15
ATTEMPTS = 30
#: The views of METL and of its marts, each before those that it reads.
FROM_ABOVE = r"""
select pg_class.oid::regclass::text, relowner::regrole::text
from pg_class inner join pg_namespace on relnamespace = pg_namespace.oid
where relkind = 'v' and nspname in ('metl', 'metl_marts') and pg_has_role(relowner, 'usage')
order by nspname desc, relname like '\_%', relname
"""


@dataclass(frozen=True)
class Installed:
    database: str
    #: The migrations that were not there before.
    migrations: list[str]
    functions: int
    views: int


def files(script: Path) -> list[Path]:
    """The files that a script includes, in order; in place of one that includes others, those others."""
    included = [script.parent / name for name in re.findall(r"^\\ir (\S+)$", script.read_text(), re.M)]
    return [leaf for each in included for leaf in files(each)] or [script]


def install(dsn: str) -> Installed:
    with connect(dsn) as connection:
        version = connection.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise BadInput(f"This is PostgreSQL {version}. METL needs {OLDEST_SERVER} or newer.")
        before = _migrations(connection)
        _run_between_readers(connection, files(resources.path("sql") / "install.sql"))
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


def _run_between_readers(connection: psycopg.Connection, scripts: list[Path]) -> None:
    """All of them or none.

    Whoever reads a view locks those below it, while scripts replace views from below. So the views are locked from
    above first. Should that not go fast, giving up sooner than PostgreSQL looks for deadlocks, and trying again,
    hurts nobody but ourselves.
    """
    for last in [False] * (ATTEMPTS - 1) + [True]:
        script = scripts[0]
        try:
            with connection.transaction():
                connection.execute("set local lock_timeout = '300ms'")
                for view, owner in connection.execute(FROM_ABOVE).fetchall():
                    # Changes nothing, but locks this view alone; "lock table" would lock what is below it too.
                    connection.execute(f"alter view {view} owner to {owner}".encode())
                for script in scripts:
                    connection.execute(script.read_bytes())
            return
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if last:
                raise MetlError(
                    f"{script.name} met others {ATTEMPTS} times, nothing was changed. Try again when it is quieter."
                ) from None
        except psycopg.Error as error:
            raise MetlError(f"{script.name} failed, nothing was changed: {str(error).strip()}") from None
        time.sleep(random.uniform(0.1, 1))  # noqa: S311


def _migrations(connection: psycopg.Connection) -> list[str]:
    if _count(connection, "select count(*) from pg_tables where schemaname = 'metl' and tablename = 'migration'") == 0:
        return []
    return [row[0] for row in connection.execute("select name from metl.migration order by number")]


def _count(connection: psycopg.Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
