"""How long `metl compare` takes for 1,000,000 rows, beside a plain `select *` of both sides.

In turns: all rows are read from both sides with `select *`, and again with COPY, which is the fastest way to read
them; then they are compared with `metl compare`, from the start of the interpreter on. The ratio is that of each turn,
their median. Each answer is checked against a comparison of all values in Python.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from database import database, server
from matrix_load import timed
from rich.table import Table

from metl.db.install import install
from metl.util.terminal import console

SCHEMA = "shop.public.customer"
TYPES = {
    "id": "int64", "name": "string", "mail": "string", "credit": "decimal", "since": "timestamptz",
    "active": "boolean", "score": "float64", "about": "json",
}  # fmt: skip
ENTITY = {
    "id": "integer", "name": "string", "mail": "string", "credit": "decimal", "since": "timestamp",
    "active": "boolean", "score": "float", "about": "json",
}  # fmt: skip
TABLE = """
create table customer (
    id bigint primary key, name text, mail text, credit numeric, since timestamptz, active boolean, score float8,
    about jsonb
);
insert into customer
select
    n, 'customer number ' || n, 'someone' || n || '@example.com', (n * 7919 % 1000000)::numeric / 100,
    timestamptz '2020-01-01Z' + n * interval '61 seconds', n % 3 = 0, n / 7.0, jsonb_build_object('a', n, 'b', 'text')
from generate_series(1, {}::bigint) as n;
"""
COLUMNS = ", ".join(TYPES)
SIDES = ("customer", f"warehouse.person where _source = '{SCHEMA}' and not _deleted")
#: What is done to the warehouse, one after the other, and how many rows of a million differ then.
CASES = {
    "all rows are equal": ("", 0),
    "… --sample 10000": ("", 0),
    "1,000 rows differ": ("update warehouse.person set mail = upper(mail) where id % 1000 = 0", 1000),
    "every row differs": ("update warehouse.person set name = name || '.'", 1_000_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: 1,000,000")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: 3)")
    given = parser.parse_args()
    with server() as somewhere, database(somewhere) as warehouse, database(somewhere) as source:
        fill(source, warehouse, given.rows)
        console.print(table(source, warehouse, given.rows, given.rounds))


def fill(source: str, warehouse: str, rows: int) -> None:
    install(warehouse)
    with psycopg.connect(source, autocommit=True) as connection:
        connection.execute(TABLE.format(rows).encode())
        connection.execute("vacuum analyze customer")
    with psycopg.connect(warehouse, autocommit=True) as connection:
        connection.execute("select metl.add_schema_version(%s, 1, %s)", [SCHEMA, described(TYPES)])
        connection.execute("select metl.add_entity_version('person', 1, %s)", [described(ENTITY)])
        mapping = json.dumps({name: name for name in TYPES})
        connection.execute("select metl.set_block(%s, 1, 'person', 1, %s)", [SCHEMA, mapping])
        metl(source, warehouse, "initial-load", "person", "--schema", SCHEMA, "--why", "a benchmark", "--yes")
        connection.execute("vacuum analyze warehouse.person")


def described(types: dict[str, str]) -> str:
    return json.dumps([{"name": name, "type": kind} for name, kind in types.items()])


def table(source: str, warehouse: str, rows: int, rounds: int) -> Table:
    shown = Table(
        f"{rows:,} rows of {len(TYPES)} columns", "select *", "COPY", "metl compare", "of select *", "of COPY", "MB",
        title="Source and warehouse: seconds",
    )  # fmt: skip
    sides = dict(zip((source, warehouse), SIDES, strict=True))
    for what, (change, differing) in CASES.items():
        if change:
            with psycopg.connect(warehouse, autocommit=True) as connection:
                connection.execute(change.encode())
                connection.execute("vacuum full analyze warehouse.person")
        expected = differing * rows // 1_000_000
        sample = ("--sample", "10000") if "--sample" in what else ()
        assert sample or by_hand(sides) == {"equal": rows - expected, "different": expected}, what
        found: list[dict[str, Any]] = []

        def compare(found: list[dict[str, Any]] = found, sample: tuple[str, ...] = sample) -> None:
            found.append(compared(source, warehouse, *sample))

        works: dict[str, Callable[[], object]] = {
            "select": lambda: [drain(dsn, side) for dsn, side in sides.items()],
            "copy": lambda: [copy(dsn, side) for dsn, side in sides.items()],
            "compare": compare,
        }
        turns = [{name: timed(work) for name, work in works.items()} for _ in range(rounds)]
        for each in found:
            assert each["different"] == expected and each["rows"] == (10_000 if sample else rows), each
        ratios = (statistics.median(turn["compare"] / turn[name] for turn in turns) for name in ("select", "copy"))
        shown.add_row(
            what,
            *(" ".join(f"{turn[name]:.1f}" for turn in turns) for name in works),
            *(f"{ratio:.2f}" for ratio in ratios),
            str(max(each["memory"] for each in found)),
        )
    return shown


def drain(dsn: str, side: str) -> int:
    return sum(1 for _ in rows_of(dsn, side))


def rows_of(dsn: str, side: str) -> Iterator[tuple[Any, ...]]:
    with psycopg.connect(dsn) as connection, connection.cursor(name="all") as cursor:
        cursor.itersize = 10_000
        yield from cursor.execute(f"select {COLUMNS} from {side} order by id".encode())  # noqa: S608


def copy(dsn: str, side: str) -> int:
    with psycopg.connect(dsn) as connection:
        query = f"copy (select {COLUMNS} from {side}) to stdout".encode()  # noqa: S608
        with connection.cursor().copy(query) as out:
            return sum(len(chunk) for chunk in out)


def by_hand(sides: dict[str, str]) -> dict[str, int]:
    """All values of all rows, compared in Python."""
    pairs = zip(*(rows_of(dsn, side) for dsn, side in sides.items()), strict=True)
    found = Counter("equal" if left == right else "different" for left, right in pairs)
    return {"equal": found["equal"], "different": found["different"]}


def compared(source: str, warehouse: str, *words: str) -> dict[str, Any]:
    done, memory = metl(source, warehouse, "compare", "person", "--wait", "0", "--json", *words, codes=(0, 3))
    [found] = json.loads(done)["schemas"]
    return {**found, "memory": memory}


def metl(source: str, warehouse: str, *words: str, codes: tuple[int, ...] = (0,)) -> tuple[str, int]:
    """What a command prints, and how many megabytes it took."""
    given = {"METL_DSN": warehouse, "METL_SOURCE_DSN": source}
    process = subprocess.Popen(
        [sys.executable, "-m", "metl", *words], env=os.environ | given, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in codes, printed
    return printed, used.ru_maxrss // 1000


if __name__ == "__main__":
    main()
