"""What the matrix costs at 10^7, 10^8 and 10^9 elements: bytes, Auto-Update, search, decompaction.

The databases are filled first (matrix_load.py); then measurements alternate between them, so that other load on the
machine affects all sizes alike.
"""

import argparse
import contextlib
from collections.abc import Callable

import psycopg
import sparse_baseline
from database import database, server
from matrix_load import ATTRIBUTES, MAPPED, SCHEMAS, Matrix, entity_attributes, load, mapping, timed
from matrix_report import (
    ADD,
    ADD_DROPPING,
    COLUMN_SET,
    COLUMN_SET_PREPARED,
    DELETE,
    ELEVATE,
    FEEDING,
    REVERSE,
    SET_BLOCK,
    checks,
    megabytes,
    round_down,
    sizes_table,
    times_table,
)

from metl.db.install import install
from metl.util.terminal import console

WARM_UP = 20
ADDITIONS = 200
DELETIONS = 50
EDITS = 50
SEARCHES = 200
ELEVATIONS = 5
BEST_OF = 5


def count(matrix: Matrix) -> None:
    elements = matrix.ask(
        """
        select (select count(*) from metl.schema_attributes where is_live)
             * (select count(*) from metl.entity_attributes where is_live)
        """
    )
    ones = matrix.ask("select count(*) from metl.decompaction")
    stored = matrix.ask("select count(attribute) from metl.dusb")
    nulls = matrix.ask("select count(*) from metl.dusb where attribute is null")
    matrix.compaction = 100 * (1 - (stored + nulls) / elements)
    tables = matrix.ask("select pg_total_relation_size('metl.block') + pg_total_relation_size('metl.cell')")
    everything = matrix.ask(
        """
        select sum(pg_total_relation_size(oid))::bigint from pg_class
        where relnamespace = 'metl'::regnamespace and relkind = 'r'
        """
    )
    matrix.figures |= {
        "elements": f"{elements:,}",
        "ones (DPM)": f"{ones:,}",
        "stored elements (DUSB)": f"{stored:,}",
        "stored null blocks": f"{nulls:,}",
        "compaction": f"{round_down(matrix.compaction)} %",
        "stored bytes, blocks and cells": megabytes(tables),
        "stored bytes, with trees, states, notices": megabytes(everything),
    }


def measure(matrices: list[Matrix]) -> None:
    for work, times in ((add_version, ADDITIONS), (delete_version, DELETIONS), (set_block, EDITS), (search, SEARCHES)):
        warm_up(matrices, work)
        for _ in range(times):
            for matrix in matrices:
                work(matrix)
    for matrix in matrices:
        elevate(matrix)


def warm_up(matrices: list[Matrix], work: Callable[[Matrix], None]) -> None:
    """PostgreSQL plans the first calls of a session individually, so they are not counted."""
    for matrix in matrices:
        before = dict(matrix.seconds)
        for _ in range(WARM_UP):
            work(matrix)
        matrix.seconds = before


def add_version(matrix: Matrix) -> None:
    schema = matrix.rng.choice(matrix.schemas)
    change = matrix.rng.choices(("keep", "rename", "drop"), (8, 1, 1))[0]
    arguments = schema.next_version(change, matrix.rng)
    matrix.measure(ADD, "select metl.add_schema_version(%s, %s, %s)", arguments)
    if change == "drop":
        matrix.seconds.setdefault(ADD_DROPPING, []).append(matrix.seconds[ADD][-1])


def delete_version(matrix: Matrix) -> None:
    """Every second time the version where the first run of the schema begins."""
    schema = matrix.rng.choice(matrix.schemas)
    version = schema.live.pop(matrix.rng.choice((0, 1)))
    matrix.measure(DELETE, "select metl.delete_schema_version(%s, %s)", (schema.name, version))


def set_block(matrix: Matrix) -> None:
    schema = matrix.rng.choice(matrix.schemas)
    fewer = mapping(schema.names, matrix.rng.randrange(1, MAPPED))
    matrix.measure(
        SET_BLOCK, "select metl.set_block(%s, %s, %s, 1, %s)", (schema.name, schema.version, schema.entity, fewer)
    )


def search(matrix: Matrix) -> None:
    """With planning, as for a statement that runs once, and prepared, as in a job that repeats it."""
    schema = matrix.rng.choice(matrix.schemas)
    column = schema.name, matrix.rng.choice(schema.live)
    query = "select * from metl.decompaction where schema = %s and version = %s"
    matrix.measure(COLUMN_SET, query, column, prepare=False)
    matrix.measure(COLUMN_SET_PREPARED, query, column, prepare=True)
    matrix.measure(
        REVERSE,
        "select * from metl.decompaction where entity = %s and entity_version = %s",
        (schema.entity, 1),
        prepare=False,
    )


def elevate(matrix: Matrix) -> None:
    """Of an entity of its own, since at 10^7 elements no entity is fed by so many schemas."""
    matrix.ask("select metl.add_entity_version('hub', 1, %s)", (entity_attributes(),))
    for schema in matrix.rng.sample(matrix.schemas, FEEDING):
        matrix.ask(
            """
            select metl.set_run(schema, version, 'hub', 1, jsonb_object_agg('c' || position - 1, attribute))
            from metl.schema_attributes where schema = %s and version = %s and position <= %s
            group by schema, version
            """,
            (schema.name, schema.live[0], MAPPED),
        )
    for version in range(2, ELEVATIONS + 2):
        # Every second version drops an attribute that all of them feed.
        kept = entity_attributes(ATTRIBUTES - version // 2)
        matrix.measure(ELEVATE, "select metl.add_entity_version('hub', %s, %s)", (version, kept))


def decompact(matrix: Matrix) -> None:
    """All ones, compared with a plain table of the same rows: sent to this client, and in the server alone."""
    matrix.connection.execute("create table plain as select * from metl.decompaction")
    matrix.connection.execute("vacuum analyze plain")
    plain, view = fastest(matrix, fetch)
    plain_in_server, view_in_server = fastest(matrix, execute)
    rows = matrix.ask("select count(*) from plain")
    matrix.copy_ratio = view / plain
    matrix.figures |= {
        "all ones through COPY": f"{view * 1000:,.0f} ms for {rows:,}",
        "… beside a plain table": f"{plain * 1000:,.0f} ms, ratio {view / plain:.2f}",
        "all ones in the server alone": f"{view_in_server * 1000:,.0f} ms",
        "… beside a plain table ": f"{plain_in_server * 1000:,.0f} ms, ratio {view_in_server / plain_in_server:.2f}",
    }
    matrix.connection.execute("drop table plain")


def fastest(matrix: Matrix, read: Callable[[Matrix, str], float]) -> tuple[float, float]:
    """The best times of the plain table and of the decompaction, read alternately."""
    rounds = [(read(matrix, "plain"), read(matrix, "metl.decompaction")) for _ in range(BEST_OF)]
    return min(plain for plain, _ in rounds), min(view for _, view in rounds)


def fetch(matrix: Matrix, relation: str) -> float:
    def copy() -> None:
        with matrix.connection.cursor().copy(f"copy (table {relation}) to stdout".encode()) as rows:
            for _ in rows:
                pass

    return timed(copy)


def execute(matrix: Matrix, relation: str) -> float:
    """Rows are serialized as for a client, but not sent."""
    serialize = ", serialize text" if matrix.connection.info.server_version >= 170_000 else ""
    plan = matrix.ask(f"explain (analyze, timing off{serialize}, format json) table {relation}")
    return float(plan[0]["Planning Time"] + plan[0]["Execution Time"]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", choices=SCHEMAS, default=list(SCHEMAS), help="exponents of the sizes: 7 8 9"
    )
    sizes = sorted(set(parser.parse_args().sizes))
    with contextlib.ExitStack() as stack:
        dsn = stack.enter_context(server())
        matrices = []
        sparse = None
        for exponent in sizes:
            address = stack.enter_context(database(dsn))
            install(address)
            connection = stack.enter_context(psycopg.connect(address, autocommit=True))
            matrix = Matrix(exponent, connection)
            console.print(f"loading {matrix.title} elements", style="dim")
            load(matrix)
            count(matrix)
            decompact(matrix)
            if exponent == sparse_baseline.EXPONENT:
                sparse = sparse_baseline.measure(matrix)
            matrices.append(matrix)
        console.print("measuring", style="dim")
        measure(matrices)

    console.print(sizes_table(matrices))
    console.print(times_table(matrices))
    if sparse:
        console.print(sparse)
    for claim, holds in checks(matrices):
        console.print(f"[green]holds[/] {claim}" if holds else f"[red]fails[/] {claim}")


if __name__ == "__main__":
    main()
