"""How long `metl matrix import` and `metl matrix export` take for 100,000 lines, relative to plain COPY of the file.

1,000 schemas of 10 versions map all of their 10 attributes to one entity each. There are two files: in one, every
block is equivalent to that of the version before; in the other, every block differs and has to be stored. They are
imported alternately, so that each import changes all 10,000 blocks.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg
from database import database, server
from matrix_load import Matrix, load, timed
from rich.table import Table

from metl.db.install import install
from metl.util.terminal import console

LINES = 100_000
FILES = {
    "equal blocks in each schema": "attribute.position - 1",
    "every block differs": "(attribute.position - 1 + attribute.version) % 10",
}
FILE = """
copy (
    select
        attribute.schema, attribute.version, attribute.attribute,
        'be' || substr(attribute.schema, 2)::int % 100 as entity, 1 as entity_version,
        'c' || {index} as entity_attribute
    from metl.schema_attributes as attribute
    order by attribute.schema, attribute.version, attribute.position
) to stdout (format csv, header)
"""
PLAIN = """
create table plain (
    schema text, version int, attribute text, entity text, entity_version int, entity_attribute text
)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each file is imported (default: 3)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, server() as server_dsn, database(server_dsn) as dsn:
        install(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            load(Matrix(8, connection))
            files = {what: Path(folder, f"{number}.csv") for number, what in enumerate(FILES)}
            for what, index in FILES.items():
                copy_out(connection, FILE.format(index=index), files[what])
            console.print(table(connection, dsn, files, rounds))


def table(connection: psycopg.Connection, dsn: str, files: dict[str, Path], rounds: int) -> Table:
    seconds: dict[str, list[float]] = {}
    first = next(iter(files.values()))

    def measure(what: str, work: Callable[..., object], *arguments: object) -> None:
        seconds.setdefault(what, []).append(timed(lambda: work(*arguments)))

    exported = first.with_name("exported.csv")
    for _ in range(rounds):
        for what, path in files.items():
            connection.execute("drop table if exists plain")
            connection.execute(PLAIN)
            measure("in", copy_in, connection, path)
            measure(f"metl matrix import, {what}", metl, dsn, "matrix", "import", str(path))
        measure("… again, nothing to change", metl, dsn, "matrix", "import", str(path))
        measure("… --dry-run of the other", metl, dsn, "matrix", "import", "--dry-run", "--json", str(first))
        measure("out", copy_out, connection, "copy plain to stdout (format csv, header)", exported)
        measure("metl matrix export", metl, dsn, "matrix", "export", "--output", str(exported))
        with exported.open() as lines:
            assert sum(1 for _ in lines) == LINES + 1
    result = Table(f"{LINES:,} lines", "seconds", "ratio", title="Mappings as CSV")
    result.add_row("COPY into a plain table", f"{median(seconds['in']):.2f}", "1.0")
    for what in seconds:
        if what not in ("in", "out", "metl matrix export"):
            result.add_row(what, *row(seconds, what, "in"))
    result.add_row("COPY of a plain table", f"{median(seconds['out']):.2f}", "1.0")
    result.add_row("metl matrix export", *row(seconds, "metl matrix export", "out"))
    startup = [timed(lambda: metl(dsn, "--version")) for _ in range(rounds)]
    result.add_row("of that, starting the command", f"{median(startup):.2f}", "")
    return result


def row(seconds: dict[str, list[float]], what: str, baseline: str) -> tuple[str, str]:
    return f"{median(seconds[what]):.2f}", f"{median(seconds[what]) / median(seconds[baseline]):.1f}"


def median(seconds: list[float]) -> float:
    return statistics.median(seconds)


def copy_out(connection: psycopg.Connection, query: str, path: Path) -> None:
    with path.open("wb") as file, connection.cursor().copy(query.encode()) as rows:
        for chunk in rows:
            file.write(chunk)


def copy_in(connection: psycopg.Connection, path: Path) -> None:
    with connection.cursor().copy("copy plain from stdin (format csv, header)") as rows:
        rows.write(path.read_bytes())


def metl(dsn: str, *arguments: str) -> None:
    """As a process of its own, so that its startup counts."""
    command = [sys.executable, "-m", "metl", *arguments]
    done = subprocess.run(command, env={**os.environ, "METL_DSN": dsn}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    main()
