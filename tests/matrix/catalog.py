"""The catalog of an installation, for comparisons, and the ways to install."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from metl.stack.postgres import binaries
from tests.conftest import scratch_database


@contextmanager
def empty_database(postgres: str) -> Iterator[str]:
    with scratch_database(postgres) as name:
        yield make_conninfo(postgres, dbname=name)


def dump(dsn: str) -> str:
    """Everything in the catalog, rights and comments included, and the rows that METL brings along."""
    output = subprocess.run(
        [binaries() / "pg_dump", "--schema-only", "--schema=metl", "--schema=warehouse", "-d", dsn],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "CREATE VIEW metl.decompaction" in output and "GRANT" in output
    # A key against tampering, new with each dump.
    catalog = re.sub(r"^\\(un)?restrict .*\n", "", output, flags=re.M)
    with psycopg.connect(dsn) as connection:
        for query in (
            "select * from metl.type order by type",
            "select * from metl.accepted_type order by source_type",
            "select number, name, checksum from metl.migration order by number",
            "select * from metl.clock",
        ):
            catalog += "".join(f"{query}: {row}\n" for row in connection.execute(query.encode()))
    return catalog


def assert_same(catalog: str, wanted: str) -> None:
    lines, wanted_lines = catalog.splitlines(), wanted.splitlines()
    missing, surplus = set(wanted_lines) - set(lines), set(lines) - set(wanted_lines)
    assert (missing, surplus) == (set(), set())
    assert lines == wanted_lines


def psql(dsn: str, script: Path, cwd: Path, *options: str, code: int = 0) -> str:
    """What psql prints, errors included."""
    done = subprocess.run(
        [binaries() / "psql", "--no-psqlrc", "-q", "-v", "ON_ERROR_STOP=1", *options, "-d", dsn, "-f", script],
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr
