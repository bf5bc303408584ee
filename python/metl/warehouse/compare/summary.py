"""How many rows differ, how, and why; with a few examples of each kind."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg

from metl.warehouse.compare.columns import Column
from metl.warehouse.compare.differences import Difference, Pair
from metl.warehouse.compare.sides import Row

MISSING, EXTRA, DIFFERENT, REJECTED, IN_FLIGHT = "missing", "extra", "different", "rejected", "in flight"
#: Kinds that make source and warehouse differ. Rows in flight do not.
REAL = (MISSING, EXTRA, DIFFERENT, REJECTED)
#: Characters kept of an example's value.
MAX_LENGTH = 200
#: Only the newest rejections are read, to bound memory; older ones count as missing or different.
MAX_REJECTIONS = 200_000
REJECTIONS = """
select key, partition, "offset", state, reason from warehouse._rejected
where entity = %s and source = %s and key is not null order by "offset" desc, state desc limit %s
"""


class Rejection(NamedTuple):
    partition: int | None
    offset: int | None
    state: int | None
    reason: str


class Example(NamedTuple):
    key: Any
    source: str | None
    warehouse: str | None
    #: Whether the last message about the row contained the value.
    brought: bool


@dataclass
class ColumnSummary:
    different: int = 0
    #: Of those, values that the last message did not contain.
    not_brought: int = 0
    examples: list[Example] = field(default_factory=list)


class Summary:
    def __init__(self, pair: Pair, columns: list[Column], rejections: dict[str, Rejection], max_examples: int) -> None:
        self._pair, self._columns, self._rejections, self._max_examples = pair, columns, rejections, max_examples
        self.counts: Counter[str] = Counter()
        self.columns: dict[str, ColumnSummary] = {}
        self.keys: dict[str, list[Any]] = {}
        self.reasons: Counter[str] = Counter()

    def add(self, differences: Iterable[Difference]) -> None:
        """Reads values of examples now: the snapshots must be those in which the rows differ."""
        for each in differences:
            kind = self._kind(each)
            self._count(kind, each.key)
            if kind == REJECTED:
                self.reasons[self._rejections[canonical(each.key)].reason] += 1
            elif each.source and each.warehouse:
                self._add_columns(each, each.source, each.warehouse)

    def add_in_flight(self, differences: Iterable[Difference]) -> None:
        for each in differences:
            self._count(IN_FLIGHT, each.key)

    def _count(self, kind: str, key: str) -> None:
        self.counts[kind] += 1
        keys = self.keys.setdefault(kind, [])
        if len(keys) < self._max_examples:
            keys.append(json.loads(key))

    def _kind(self, difference: Difference) -> str:
        if difference.source is None:
            return EXTRA
        rejection = self._rejections.get(canonical(difference.key)) if self._rejections else None
        if rejection is not None and (difference.warehouse is None or _is_newer(rejection, difference.warehouse)):
            return REJECTED
        return MISSING if difference.warehouse is None else DIFFERENT

    def _add_columns(self, difference: Difference, source: Row, warehouse: Row) -> None:
        *_, kept = json.loads(warehouse.details)
        for index, (left, right) in enumerate(zip(source.hashes.split(), warehouse.hashes.split(), strict=True)):
            if left == right:
                continue
            brought = self._columns[index].name not in (kept or {})
            summary = self.columns.setdefault(self._columns[index].attribute, ColumnSummary())
            summary.different += 1
            summary.not_brought += not brought
            if len(summary.examples) < self._max_examples:
                source_value = self._pair.source.value(source.details, index)
                warehouse_value = self._pair.warehouse.value(difference.key, index)
                values = excerpts(source_value, warehouse_value, MAX_LENGTH)
                summary.examples.append(Example(json.loads(difference.key), *values, brought))


def read_rejections(connection: psycopg.Connection, entity: str, topic: str) -> dict[str, Rejection]:
    """The newest rejection of each key."""
    rejections: dict[str, Rejection] = {}
    for key, *rejection in connection.execute(REJECTIONS, [entity, topic, MAX_REJECTIONS]):
        try:
            rejections.setdefault(canonical(key), Rejection(*rejection))
        except ValueError:
            continue  # Not JSON, hence not the key of a row.
    return rejections


def canonical(key: str) -> str:
    """A normal form of a JSON key; floats stay as written, which json would round."""
    return json.dumps(json.loads(key, parse_float=str), sort_keys=True)


def _is_newer(rejection: Rejection, row: Row) -> bool:
    """Compares positions. A row that came by SQL has partition -1: no rejection counts as newer."""
    partition, offset, state, _ = json.loads(row.details)
    return rejection.partition == partition and (rejection.offset or 0, rejection.state or 0) > (offset, state)


def excerpts(source: str | None, warehouse: str | None, width: int) -> tuple[str | None, str | None]:
    """Two long values, cut to the part where they begin to differ."""
    pairs = zip(source or "", warehouse or "", strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    begin = max(0, same - width // 3) if max(len(source or ""), len(warehouse or "")) > width else 0

    def excerpt(value: str | None) -> str | None:
        return value if value is None else f"{'…' if begin else ''}{value[begin : begin + width]}"

    return excerpt(source), excerpt(warehouse)
