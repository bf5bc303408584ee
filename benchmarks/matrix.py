"""What the matrix costs at 10^7, 10^8 and 10^9 elements: bytes, Auto-Update, search, decompaction.

The databases are filled first (matrix_load.py) and then measured in turns, so that a busy machine troubles all sizes
alike.
"""

import argparse
import contextlib
import math
import statistics
from collections.abc import Callable, Iterator

import psycopg
from database import database, server
from matrix_load import (
    ATTRIBUTES,
    MAPPED,
    SCHEMAS,
    Matrix,
    entity_attributes,
    load,
    mapping,
    timed,
)
from rich.table import Table

from metl.db.install import install
from metl.util.terminal import console

#: So many schemas feed the entity that is elevated.
FEEDING = 100
WARM_UP = 20
ADDITIONS = 200
DELETIONS = 50
EDITS = 50
SEARCHES = 200
ELEVATIONS = 5
BEST_OF = 5

ADD = "add a schema version"
ADD_DROPPING = "… that drops a mapped attribute"
DELETE = "delete a schema version"
SET_BLOCK = "set a block"
ELEVATE = f"elevate an entity that {FEEDING} schemas feed"
COLUMN_SET = "one column set"
COLUMN_SET_PREPARED = "… as a prepared statement"
REVERSE = "reverse search of one entity version"


# How large it is


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
        "compaction": f"{floored(matrix.compaction)} %",
        "stored bytes, blocks and cells": megabytes(tables),
        "stored bytes, with trees, states, notices": megabytes(everything),
    }


def floored(percent: float) -> str:
    """As many nines as there are, and never 100."""
    return f"{math.floor(percent * 10**5) / 10**5:.5f}"


def megabytes(size: float) -> str:
    return f"{size / 10**6:,.2f} MB"


# How long it takes


def measure(matrices: list[Matrix]) -> None:
    for work, times in ((add_version, ADDITIONS), (delete_version, DELETIONS), (set_block, EDITS), (search, SEARCHES)):
        warm_up(matrices, work)
        for _ in range(times):
            for matrix in matrices:
                work(matrix)
    for matrix in matrices:
        elevate(matrix)


def warm_up(matrices: list[Matrix], work: Callable[[Matrix], None]) -> None:
    """A session plans its first calls one by one; they are not counted."""
    for matrix in matrices:
        counted = dict(matrix.seconds)
        for _ in range(WARM_UP):
            work(matrix)
        matrix.seconds = counted


def add_version(matrix: Matrix) -> None:
    schema = matrix.chance.choice(matrix.schemas)
    change = matrix.chance.choices(("keep", "rename", "drop"), (8, 1, 1))[0]
    arguments = schema.next_version(change, matrix.chance)
    matrix.measure(ADD, "select metl.add_schema_version(%s, %s, %s)", arguments)
    if change == "drop":
        matrix.seconds.setdefault(ADD_DROPPING, []).append(matrix.seconds[ADD][-1])


def delete_version(matrix: Matrix) -> None:
    """Every second time the version where the first run of the schema begins."""
    schema = matrix.chance.choice(matrix.schemas)
    version = schema.live.pop(matrix.chance.choice((0, 1)))
    matrix.measure(DELETE, "select metl.delete_schema_version(%s, %s)", (schema.name, version))


def set_block(matrix: Matrix) -> None:
    schema = matrix.chance.choice(matrix.schemas)
    fewer = mapping(schema.names, matrix.chance.randrange(1, MAPPED))
    matrix.measure(
        SET_BLOCK, "select metl.set_block(%s, %s, %s, 1, %s)", (schema.name, schema.version, schema.entity, fewer)
    )


def search(matrix: Matrix) -> None:
    """Planning included, as for a statement that comes once; a job that asks often prepares it."""
    schema = matrix.chance.choice(matrix.schemas)
    column = schema.name, matrix.chance.choice(schema.live)
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
    """A further entity, since at 10^7 elements no entity is fed by so many schemas."""
    matrix.ask("select metl.add_entity_version('hub', 1, %s)", (entity_attributes(),))
    for schema in matrix.chance.sample(matrix.schemas, FEEDING):
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
    """All ones beside a plain table with the same rows: to this client, and in the server alone."""
    matrix.connection.execute("create table plain as select * from metl.decompaction")
    matrix.connection.execute("vacuum analyze plain")
    plain, view = fastest(matrix, fetch)
    plain_inside, view_inside = fastest(matrix, inside)
    rows = matrix.ask("select count(*) from plain")
    matrix.copy_ratio = view / plain
    matrix.figures |= {
        "all ones through COPY": f"{view * 1000:,.0f} ms for {rows:,}",
        "… beside a plain table": f"{plain * 1000:,.0f} ms, ratio {view / plain:.2f}",
        "all ones in the server alone": f"{view_inside * 1000:,.0f} ms",
        "… beside a plain table ": f"{plain_inside * 1000:,.0f} ms, ratio {view_inside / plain_inside:.2f}",
    }
    matrix.connection.execute("drop table plain")


def fastest(matrix: Matrix, read: Callable[[Matrix, str], float]) -> tuple[float, float]:
    """The best of some turns: of the plain table, of the decompaction."""
    turns = [(read(matrix, "plain"), read(matrix, "metl.decompaction")) for _ in range(BEST_OF)]
    return min(plain for plain, _ in turns), min(view for _, view in turns)


def fetch(matrix: Matrix, relation: str) -> float:
    def copy() -> None:
        with matrix.connection.cursor().copy(f"copy (table {relation}) to stdout".encode()) as rows:
            for _ in rows:
                pass

    return timed(copy)


def inside(matrix: Matrix, relation: str) -> float:
    """Rows made into text as for a client, but sent nowhere."""
    serialize = ", serialize text" if matrix.connection.info.server_version >= 170_000 else ""
    plan = matrix.ask(f"explain (analyze, timing off{serialize}, format json) table {relation}")
    return float(plan[0]["Planning Time"] + plan[0]["Execution Time"]) / 1000


# The sparse baseline: Algorithm 1 keeps every element

SPARSE_AT = 7
SPARSE = """
create table sparse as
select
    substr(source.schema, 2)::smallint as schema, source.version::smallint, source.position::smallint as attribute,
    substr(target.entity, 3)::smallint as entity, target.entity_version::smallint,
    target.position::smallint as entity_attribute, (one.schema is not null)::int::smallint as value
from metl.schema_attributes as source
cross join metl.entity_attributes as target
left join metl.decompaction as one
    on (source.schema, source.version, source.attribute) = (one.schema, one.version, one.attribute)
    and (target.entity, target.entity_version, target.entity_attribute)
    = (one.entity, one.entity_version, one.entity_attribute);
create index sparse_column on sparse (schema, version);
"""


def baseline(matrix: Matrix) -> Table:
    matrix.connection.execute(SPARSE.encode())
    matrix.connection.execute("vacuum analyze sparse")
    scan = "select * from sparse where schema = %s and version = %s and value = 1"
    column = "select * from metl.decompaction where schema = %s and version = %s"
    for schema in matrix.chance.choices(matrix.schemas, k=SEARCHES):
        version = matrix.chance.choice(schema.live)
        for prepare, how in ((False, ""), (True, ", prepared")):
            matrix.measure(f"scan{how}", scan, (int(schema.name[1:]), version), prepare=prepare)
            matrix.measure(f"column set{how}", column, (schema.name, version), prepare=prepare)
    elements = matrix.ask("select count(*) from sparse")
    sparse = matrix.ask("select pg_total_relation_size('sparse')")
    stored = matrix.ask("select pg_total_relation_size('metl.block') + pg_total_relation_size('metl.cell')")
    assert matrix.ask("select sum(value) from sparse") == matrix.ask("select count(*) from metl.decompaction")
    matrix.connection.execute("drop table sparse")

    table = Table(f"{elements:,} elements", "every element", "METL", "ratio", title="The sparse baseline")
    table.add_row("stored bytes", megabytes(sparse), megabytes(stored), f"{sparse / stored:,.0f}")
    table.add_row("… at 10^9 elements, extrapolated", megabytes(sparse * 100), "see above", "")
    for how in ("", ", prepared"):
        scanned, mapped = matrix.median(f"scan{how}"), matrix.median(f"column set{how}")
        table.add_row(f"one column{how}, p50", milliseconds(scanned), milliseconds(mapped), f"{scanned / mapped:.1f}")
    return table


# What is printed


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def sizes_table(matrices: list[Matrix]) -> Table:
    table = Table("elements", *(matrix.title for matrix in matrices), title="The matrix")
    for what in matrices[0].figures:
        table.add_row(what, *(matrix.figures[what] for matrix in matrices))
    return table


def times_table(matrices: list[Matrix]) -> Table:
    table = Table("best / p50 / p90, ms", *(matrix.title for matrix in matrices), title="One after the other")
    for what in (ADD, ADD_DROPPING, DELETE, SET_BLOCK, ELEVATE, COLUMN_SET, COLUMN_SET_PREPARED, REVERSE):
        table.add_row(what, *(spread(matrix.seconds[what]) for matrix in matrices))
    return table


def spread(seconds: list[float]) -> str:
    """The best is what it takes when nothing else runs; p90 shows what else ran."""
    slow = statistics.quantiles(seconds, n=10, method="inclusive")[-1]
    return " / ".join(f"{taken * 1000:.1f}" for taken in (min(seconds), statistics.median(seconds), slow))


def verdicts(matrices: list[Matrix]) -> Iterator[tuple[str, bool]]:
    for matrix in matrices:
        yield f"{matrix.title}: compaction {floored(matrix.compaction)} %, at least 99.9", matrix.compaction >= 99.9
        for what, limit in ((ADD, 0.010), (COLUMN_SET, 0.005), (REVERSE, 0.020)):
            taken = matrix.median(what)
            words = f"{matrix.title}: {what} {milliseconds(taken)}, at most {limit * 1000:.0f} ms"
            yield words, taken <= limit
    found = {matrix.exponent: matrix for matrix in matrices}
    if 7 in found and 9 in found:
        growth = found[9].median(ADD) / found[7].median(ADD)
        yield (
            f"adding a schema version at 10^9 takes {growth:.2f} times what it takes at 10^7, at most 1.5",
            growth <= 1.5,
        )
    if 8 in found:
        ratio = found[8].copy_ratio
        yield f"10^8: all ones take {ratio:.2f} times a plain table, at most 3", ratio <= 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", choices=SCHEMAS, default=list(SCHEMAS), help="exponents of the sizes: 7 8 9"
    )
    sizes = sorted(set(parser.parse_args().sizes))
    with contextlib.ExitStack() as open_until_the_end:
        dsn = open_until_the_end.enter_context(server())
        matrices = []
        sparse = None
        for exponent in sizes:
            address = open_until_the_end.enter_context(database(dsn))
            install(address)
            connection = open_until_the_end.enter_context(psycopg.connect(address, autocommit=True))
            matrix = Matrix(exponent, connection)
            console.print(f"loading {matrix.title} elements", style="dim")
            load(matrix)
            count(matrix)
            decompact(matrix)
            if exponent == SPARSE_AT:
                sparse = baseline(matrix)
            matrices.append(matrix)
        console.print("measuring", style="dim")
        measure(matrices)

    console.print(sizes_table(matrices))
    console.print(times_table(matrices))
    if sparse:
        console.print(sparse)
    for words, holds in verdicts(matrices):
        console.print(f"[green]holds[/] {words}" if holds else f"[red]fails[/] {words}")


if __name__ == "__main__":
    main()
