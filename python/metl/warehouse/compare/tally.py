"""How many rows differ, how, and why; of each kind a few are kept as examples."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg

from metl.warehouse.compare.columns import Column
from metl.warehouse.compare.recheck import Difference, Pair
from metl.warehouse.compare.sides import Row

MISSING, EXTRA, DIFFERENT, REJECTED, IN_FLIGHT = "missing", "extra", "different", "rejected", "in flight"
#: What makes the two ends differ. What is in flight does not.
REAL = (MISSING, EXTRA, DIFFERENT, REJECTED)
#: So much of a value is kept.
SHOWN = 200
#: The newest ones; of more the reason is not looked for.
MOST_REJECTED = 200_000
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
    #: Whether the last message about the row brought the value.
    brought: bool


@dataclass
class ColumnTally:
    different: int = 0
    #: Of those, values that no message brought.
    not_brought: int = 0
    examples: list[Example] = field(default_factory=list)


class Tally:
    def __init__(self, pair: Pair, columns: list[Column], rejections: dict[str, Rejection], examples: int) -> None:
        self._pair, self._names, self._rejections, self._most = pair, columns, rejections, examples
        self.counts: Counter[str] = Counter()
        self.columns: dict[str, ColumnTally] = {}
        self.keys: dict[str, list[Any]] = {}
        self.reasons: Counter[str] = Counter()

    def add(self, differences: Iterable[Difference]) -> None:
        """Values of examples are read now: the snapshots must be those in which the rows were found to differ."""
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
        if len(keys) < self._most:
            keys.append(json.loads(key))

    def _kind(self, difference: Difference) -> str:
        if difference.source is None:
            return EXTRA
        rejection = self._rejections.get(canonical(difference.key)) if self._rejections else None
        if rejection is not None and (difference.warehouse is None or _is_newer(rejection, difference.warehouse)):
            return REJECTED
        return MISSING if difference.warehouse is None else DIFFERENT

    def _add_columns(self, difference: Difference, source: Row, warehouse: Row) -> None:
        *_, kept = json.loads(warehouse.about)
        for place, (left, right) in enumerate(zip(source.hashes.split(), warehouse.hashes.split(), strict=True)):
            if left == right:
                continue
            name = self._names[place].attribute
            brought = self._names[place].name not in (kept or {})
            column = self.columns.setdefault(name, ColumnTally())
            column.different += 1
            column.not_brought += not brought
            if len(column.examples) < self._most:
                there = self._pair.source.value(source.about, place)
                here = self._pair.warehouse.value(difference.key, place)
                column.examples.append(Example(json.loads(difference.key), *excerpts(there, here, SHOWN), brought))


def read_rejections(connection: psycopg.Connection, entity: str, topic: str) -> dict[str, Rejection]:
    """The newest of each key."""
    found: dict[str, Rejection] = {}
    for key, *rejection in connection.execute(REJECTIONS, [entity, topic, MOST_REJECTED]):
        try:
            found.setdefault(canonical(key), Rejection(*rejection))
        except ValueError:
            continue  # Not a key of any row.
    return found


def canonical(key: str) -> str:
    """The same for each spelling of a key."""
    return json.dumps(json.loads(key, parse_float=str), sort_keys=True)


def _is_newer(rejection: Rejection, row: Row) -> bool:
    """Only where positions tell: rows that came by SQL have none."""
    partition, offset, state, _ = json.loads(row.about)
    return rejection.partition == partition and (rejection.offset or 0, rejection.state or 0) > (offset, state)


def excerpts(source: str | None, warehouse: str | None, width: int) -> tuple[str | None, str | None]:
    """Of two long values the part where they begin to differ."""
    pairs = zip(source or "", warehouse or "", strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    begin = max(0, same - width // 3) if max(len(source or ""), len(warehouse or "")) > width else 0

    def part(value: str | None) -> str | None:
        return value if value is None else f"{'…' if begin else ''}{value[begin : begin + width]}"

    return part(source), part(warehouse)
