"""Rows that differ, and whether they still do a moment later: between the source and the warehouse all takes time."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic, sleep

from metl.warehouse.compare.sides import Row, Side

#: Of more rows than that it is not remembered which ones they are.
REMEMBERED = 50_000
#: Rows that are looked for at once.
CHUNK = 1000
PAUSES = (0.5, 1, 2, 4)


@dataclass
class Difference:
    """A row that is not the same at both ends, or only at one of them."""

    key: str
    source: Row | None
    warehouse: Row | None

    def __post_init__(self) -> None:
        self._first = self.source, self.warehouse
        # Known even when the row is gone.
        self._name = self.source.about if self.source else None

    @property
    def name(self) -> str | None:
        """By which the source finds it."""
        return self.source.about if self.source else self._name

    @property
    def is_settled(self) -> bool:
        return _hashes(self.source) == _hashes(self.warehouse)

    @property
    def moves(self) -> bool:
        """Both ends have changed since the first look: the warehouse follows."""
        now = self.source, self.warehouse
        return all(_hashes(first) != _hashes(each) for first, each in zip(self._first, now, strict=True))


def _hashes(row: Row | None) -> str | None:
    return row.hashes if row else None


@dataclass(frozen=True)
class Pair:
    source: Side
    warehouse: Side
    #: The hashes of a row without values, which is not sent unless it had some before; none if that cannot be told.
    nothing: str | None

    def begin(self) -> None:
        """A snapshot of each, the warehouse's first: what it has then has been at the source before."""
        for side in (self.warehouse, self.source):
            side.connection.commit()
            side.connection.execute("select")

    def sums(self) -> tuple[dict[int, tuple[int, str]], dict[int, tuple[int, str]]]:
        """Those of both ends, computed at the same time."""
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(side.sums) for side in (self.source, self.warehouse)]
            try:
                source, warehouse = (each.result() for each in futures)
            except BaseException:
                for side in (self.source, self.warehouse):
                    side.connection.cancel_safe()
                raise
        return source, warehouse

    def differences(self, buckets: list[int], passed: Callable[[], None]) -> Iterator[Difference]:
        """Rows of some buckets that differ. `passed` is called for every thousand that were looked at."""
        source, warehouse = self.source.stream(buckets), self.warehouse.stream(buckets)
        left, right = next(source, None), next(warehouse, None)
        for count in itertools.count(1):
            if left is None and right is None:
                return
            places = [each[:2] for each in (left, right) if each is not None]
            first = min(places)
            one = left if left is not None and left[:2] == first else None
            other = right if right is not None and right[:2] == first else None
            if _hashes(one) != _hashes(other) and not self._is_not_sent(one, other):
                yield Difference(first[1], one, other)
            left = next(source, None) if one is not None else left
            right = next(warehouse, None) if other is not None else right
            if not count % CHUNK:
                passed()

    def look_again(self, differences: Iterable[Difference], *, is_last: bool) -> None:
        """At rows that differed, as they are now."""
        self.begin()
        for chunk in _chunks(differences):
            source = self.source.find([each.name for each in chunk if each.name])
            if is_last and (nameless := [each.key for each in chunk if not each.name]):
                source |= self.source.scan(nameless)
            warehouse = self.warehouse.find([each.key for each in chunk])
            for each in chunk:
                each.source, each.warehouse = source.get(each.key), warehouse.get(each.key)
                if self._is_not_sent(each.source, each.warehouse):
                    each.source = None

    def _is_not_sent(self, source: Row | None, warehouse: Row | None) -> bool:
        return source is not None and warehouse is None and source.hashes == self.nothing


def settle(
    pair: Pair, differences: list[Difference], seconds: float, waits: Callable[[int], None]
) -> tuple[list[Difference], list[Difference]]:
    """Those that stay, and those that were in flight. `waits` hears of how many are waited for."""
    left, arrived = differences, []
    end = monotonic() + seconds
    for pause in itertools.chain(PAUSES, itertools.repeat(PAUSES[-1])):
        remaining = end - monotonic()
        if not left or remaining <= 0:
            break
        waits(len(left))
        sleep(min(pause, remaining))
        pair.look_again(left, is_last=pause >= remaining)
        arrived += [each for each in left if each.is_settled]
        left = [each for each in left if not each.is_settled]
    return [each for each in left if not each.moves], [*arrived, *(each for each in left if each.moves)]


def _chunks(differences: Iterable[Difference]) -> Iterator[list[Difference]]:
    rest = iter(differences)
    while chunk := list(itertools.islice(rest, CHUNK)):
        yield chunk
