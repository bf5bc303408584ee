"""How long `metl entities compare` takes for 1,000,000 rows, relative to a plain `select *` of both sides.

Each round reads all rows of both sides with `select *`, then with COPY, which is the fastest way to read them, then
runs `metl entities compare` as a process of its own. The ratio is the median of the rounds. Each result is
checked against a comparison of all values in Python.
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
#: Cumulative changes of the warehouse, and how many rows of a million differ after each.
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
    arguments = parser.parse_args()
    with server() as dsn, database(dsn) as warehouse, database(dsn) as source:
        fill(source, warehouse, arguments.rows)
        console.print(table(source, warehouse, arguments.rows, arguments.rounds))


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
        metl(
            source, warehouse, "entities", "initial-load", "person", "--schema", SCHEMA, "--why", "a benchmark", "--yes"
        )
        connection.execute("vacuum analyze warehouse.person")


def described(types: dict[str, str]) -> str:
    return json.dumps([{"name": name, "type": kind} for name, kind in types.items()])


def table(source: str, warehouse: str, rows: int, rounds: int) -> Table:
    result = Table(
        f"{rows:,} rows of {len(TYPES)} columns", "select *", "COPY", "compare", "of select *", "of COPY", "MB",
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
        assert sample or compare_in_python(sides) == {"equal": rows - expected, "different": expected}, what
        reports: list[dict[str, Any]] = []

        def compare(reports: list[dict[str, Any]] = reports, sample: tuple[str, ...] = sample) -> None:
            reports.append(metl_compare(source, warehouse, *sample))

        works: dict[str, Callable[[], object]] = {
            "select": lambda: [drain(dsn, side) for dsn, side in sides.items()],
            "copy": lambda: [copy(dsn, side) for dsn, side in sides.items()],
            "compare": compare,
        }
        times = [{name: timed(work) for name, work in works.items()} for _ in range(rounds)]
        for each in reports:
            assert each["different"] == expected and each["rows"] == (10_000 if sample else rows), each
        ratios = (statistics.median(each["compare"] / each[name] for each in times) for name in ("select", "copy"))
        result.add_row(
            what,
            *(" ".join(f"{each[name]:.1f}" for each in times) for name in works),
            *(f"{ratio:.2f}" for ratio in ratios),
            str(max(each["memory"] for each in reports)),
        )
    return result


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


def compare_in_python(sides: dict[str, str]) -> dict[str, int]:
    """All values of all rows, compared in Python."""
    pairs = zip(*(rows_of(dsn, side) for dsn, side in sides.items()), strict=True)
    counts = Counter("equal" if left == right else "different" for left, right in pairs)
    return {"equal": counts["equal"], "different": counts["different"]}


def metl_compare(source: str, warehouse: str, *options: str) -> dict[str, Any]:
    output, memory = metl(
        source, warehouse, "entities", "compare", "person", "--wait", "0", "--json", *options, codes=(0, 3)
    )
    [report] = json.loads(output)["schemas"]
    return {**report, "memory": memory}


def metl(source: str, warehouse: str, *arguments: str, codes: tuple[int, ...] = (0,)) -> tuple[str, int]:
    """The output of a command, and its peak memory in megabytes."""
    environment = {"METL_DSN": warehouse, "METL_SOURCE_DSN": source}
    process = subprocess.Popen(
        [sys.executable, "-m", "metl", *arguments], env=os.environ | environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in codes, output
    return output, usage.ru_maxrss // 1000


if __name__ == "__main__":
    main()
