"""Operations that the matrix benchmark measures, and its tables and checks."""

import math
import statistics
from collections.abc import Iterator

from matrix_load import Matrix
from rich.table import Table

#: Schemas that feed the entity that is elevated.
FEEDING = 100
ADD = "add a schema version"
ADD_DROPPING = "… that drops a mapped attribute"
DELETE = "delete a schema version"
SET_BLOCK = "set a block"
ELEVATE = f"elevate an entity that {FEEDING} schemas feed"
COLUMN_SET = "one column set"
COLUMN_SET_PREPARED = "… as a prepared statement"
REVERSE = "reverse search of one entity version"


def round_down(percent: float) -> str:
    """Rounds down, so that 99.999999 never shows as 100."""
    return f"{math.floor(percent * 10**5) / 10**5:.5f}"


def megabytes(size: float) -> str:
    return f"{size / 10**6:,.2f} MB"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def sizes_table(matrices: list[Matrix]) -> Table:
    table = Table("elements", *(matrix.title for matrix in matrices), title="The matrix")
    for what in matrices[0].figures:
        table.add_row(what, *(matrix.figures[what] for matrix in matrices))
    return table


def times_table(matrices: list[Matrix]) -> Table:
    table = Table("best / p50 / p90, ms", *(matrix.title for matrix in matrices), title="Times")
    for what in (ADD, ADD_DROPPING, DELETE, SET_BLOCK, ELEVATE, COLUMN_SET, COLUMN_SET_PREPARED, REVERSE):
        table.add_row(what, *(spread(matrix.seconds[what]) for matrix in matrices))
    return table


def spread(seconds: list[float]) -> str:
    """The best is the time without other load on the machine; p90 shows the load."""
    slow = statistics.quantiles(seconds, n=10, method="inclusive")[-1]
    return " / ".join(f"{each * 1000:.1f}" for each in (min(seconds), statistics.median(seconds), slow))


def checks(matrices: list[Matrix]) -> Iterator[tuple[str, bool]]:
    for matrix in matrices:
        yield f"{matrix.title}: compaction {round_down(matrix.compaction)} %, at least 99.9", matrix.compaction >= 99.9
        for what, limit in ((ADD, 0.010), (COLUMN_SET, 0.005), (REVERSE, 0.020)):
            median = matrix.median(what)
            claim = f"{matrix.title}: {what} {milliseconds(median)}, at most {limit * 1000:.0f} ms"
            yield claim, median <= limit
    by_exponent = {matrix.exponent: matrix for matrix in matrices}
    if 7 in by_exponent and 9 in by_exponent:
        growth = by_exponent[9].median(ADD) / by_exponent[7].median(ADD)
        yield (
            f"adding a schema version at 10^9 takes {growth:.2f} times what it takes at 10^7, at most 1.5",
            growth <= 1.5,
        )
    if 8 in by_exponent:
        ratio = by_exponent[8].copy_ratio
        yield f"10^8: all ones take {ratio:.2f} times a plain table, at most 3", ratio <= 3
