"""Puts sql/ into a database: what `psql -f sql/install.sql` does, in one transaction."""

import hashlib
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
#: A line of an index file: a file that psql includes, or a migration and its checksum.
INCLUDE = re.compile(r"^(?:\\set file (\S+) \\set sha256 (\S+) \\ir apply\.sql|\\ir (\S+))$", re.M)
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


@dataclass(frozen=True)
class Script:
    """A file of SQL that install.sql includes; with a checksum it is a migration, to be applied once."""

    path: Path
    checksum: str | None = None


def scripts(index: Path) -> list[Script]:
    """What an index file includes, in order: SQL, migrations, and what further index files include."""
    found: list[Script] = []
    for migration, checksum, included in INCLUDE.findall(index.read_text()):
        if migration:
            found.append(Script(index.with_name(f"{migration}.sql"), checksum))
        elif (path := index.parent / included).name == "index.sql":
            found.extend(scripts(path))
        else:
            found.append(Script(path))
    return found


def install(dsn: str, *, dry_run: bool = False) -> Installed:
    """A dry run is rolled back at the end."""
    with connect(dsn) as connection:
        version = connection.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise BadInput(f"This is PostgreSQL {version}. METL needs {OLDEST_SERVER} or newer.")
        before = _migrations(connection)
        connection.commit()
        found = scripts(resources.path("sql") / "install.sql")
        check_checksums(found)
        return _run_between_readers(connection, found, before, dry_run)


def check_checksums(found: list[Script]) -> None:
    """psql goes by the checksums in migrations/index.sql, so that they have to be those of the files."""
    for script in found:
        if script.checksum and script.checksum != (actual := _checksum(script)):
            raise MetlError(
                f"migrations/{script.path.name} has SHA-256 {actual}, migrations/index.sql says {script.checksum}. "
                "An applied migration is never edited: restore it, and make the change in a new migration. "
                "Of one that was never applied, correct the checksum."
            )


def _installed(connection: psycopg.Connection, before: list[str]) -> Installed:
    return Installed(
        database=connection.info.dbname,
        migrations=[name for name in _migrations(connection) if name not in before],
        functions=_count(connection, "select count(*) from pg_proc where pronamespace = 'metl'::regnamespace"),
        views=_count(
            connection, "select count(*) from pg_class where relnamespace = 'metl'::regnamespace and relkind = 'v'"
        ),
    )


def _run_between_readers(
    connection: psycopg.Connection, found: list[Script], before: list[str], dry_run: bool
) -> Installed:
    """All of them or none.

    A reader of a view locks those below it as well, while scripts replace views from below. So the views are locked
    from above first. Where that takes longer than the time after which PostgreSQL looks for deadlocks, the install
    gives up and tries again, so that no reader fails.
    """
    for last in [False] * (ATTEMPTS - 1) + [True]:
        script = found[0]
        try:
            with connection.transaction(force_rollback=dry_run):
                connection.execute("set local lock_timeout = '300ms'")
                for view, owner in connection.execute(FROM_ABOVE).fetchall():
                    # Changes nothing, but locks this view alone; "lock table" would lock what is below it too.
                    connection.execute(f"alter view {view} owner to {owner}".encode())
                for script in found:
                    run(connection, script)
                return _installed(connection, before)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if last:
                raise MetlError(
                    f"{script.path.name} found its objects locked {ATTEMPTS} times, nothing was changed. "
                    "Try again when there is less load."
                ) from None
        except psycopg.Error as error:
            raise MetlError(f"{script.path.name} failed, nothing was changed: {str(error).strip()}") from None
        time.sleep(random.uniform(0.1, 1))  # noqa: S311
    raise AssertionError("the last attempt returns or raises")


def run(connection: psycopg.Connection, script: Script) -> None:
    """As sql/migrations/apply.sql does in psql, where it is a migration."""
    text = script.path.read_bytes()
    if script.checksum is None:
        connection.execute(text)
        return
    migration = (script.path.stem, _checksum(script))
    [(is_pending,)] = connection.execute("select metl._migration_is_pending(%s, %s)", migration).fetchall()
    if is_pending:
        connection.execute(text)
        connection.execute("select metl._record_migration(%s, %s)", migration)


def _checksum(script: Script) -> str:
    return hashlib.sha256(script.path.read_bytes()).hexdigest()


def _migrations(connection: psycopg.Connection) -> list[str]:
    if _count(connection, "select count(*) from pg_tables where schemaname = 'metl' and tablename = 'migration'") == 0:
        return []
    return [row[0] for row in connection.execute("select name from metl.migration order by number")]


def _count(connection: psycopg.Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
