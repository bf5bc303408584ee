"""Which rows differ; they are fetched again for a while, since rows in flight become equal."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic, sleep

from metl.warehouse.compare.sides import Row, Side

#: If more rows differ, they are only counted: keeping them for a recheck would take too much memory.
MAX_RECHECKED = 50_000
#: Rows fetched by one query, and between two reports of progress.
CHUNK = 1000
#: Seconds between rechecks; the last one repeats.
INTERVALS = (0.5, 1, 2, 4)


@dataclass
class Difference:
    """A row whose two sides differ, or that only one side has."""

    key: str
    source: Row | None
    warehouse: Row | None

    def __post_init__(self) -> None:
        self._first = self.source, self.warehouse
        # Kept for the recheck: the source may have deleted the row by then.
        self._primary_key = self.source.details if self.source else None

    @property
    def primary_key(self) -> str | None:
        """The key by which the source finds the row with its index."""
        return self.source.details if self.source else self._primary_key

    @property
    def is_equal(self) -> bool:
        return _hashes(self.source) == _hashes(self.warehouse)

    @property
    def changed_on_both_sides(self) -> bool:
        """Since the first read: the warehouse follows the source, so the row is in flight."""
        now = self.source, self.warehouse
        return all(_hashes(first) != _hashes(each) for first, each in zip(self._first, now, strict=True))


def _hashes(row: Row | None) -> str | None:
    return row.hashes if row else None


@dataclass(frozen=True)
class Pair:
    source: Side
    warehouse: Side
    #: Hashes of a row whose values are all null. No message is sent for it unless it had values before, so that the
    #: warehouse may lack it. None if not all columns are compared.
    null_hashes: str | None

    def begin_snapshots(self) -> None:
        """The warehouse's first: whatever it has then, the source had before."""
        for side in (self.warehouse, self.source):
            side.connection.commit()
            side.connection.execute("select")

    def checksums(self) -> tuple[dict[int, tuple[int, str]], dict[int, tuple[int, str]]]:
        """Those of both sides, computed at the same time."""
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(side.checksums) for side in (self.source, self.warehouse)]
            try:
                source, warehouse = (each.result() for each in futures)
            except BaseException:
                for side in (self.source, self.warehouse):
                    side.connection.cancel_safe()
                raise
        return source, warehouse

    def differences(self, buckets: list[int], on_chunk: Callable[[], None]) -> Iterator[Difference]:
        """Rows of some buckets that differ, by a merge join. `on_chunk` is called after every CHUNK rows."""
        source_rows, warehouse_rows = self.source.stream(buckets), self.warehouse.stream(buckets)
        source, warehouse = next(source_rows, None), next(warehouse_rows, None)
        for count in itertools.count(1):
            if source is None and warehouse is None:
                return
            lowest = min(row.sort_key for row in (source, warehouse) if row is not None)
            left = source if source is not None and source.sort_key == lowest else None
            right = warehouse if warehouse is not None and warehouse.sort_key == lowest else None
            if _hashes(left) != _hashes(right) and not self._is_unsent(left, right):
                yield Difference(lowest[1], left, right)
            source = next(source_rows, None) if left is not None else source
            warehouse = next(warehouse_rows, None) if right is not None else warehouse
            if not count % CHUNK:
                on_chunk()

    def refetch(self, differences: Iterable[Difference], *, is_last: bool) -> None:
        """Update the differences to the current rows of both sides."""
        self.begin_snapshots()
        for chunk in _chunks(differences):
            source = self.source.find([each.primary_key for each in chunk if each.primary_key])
            # A sequential scan, so only once, in the last recheck.
            if is_last and (without_primary_key := [each.key for each in chunk if not each.primary_key]):
                source |= self.source.scan(without_primary_key)
            warehouse = self.warehouse.find([each.key for each in chunk])
            for each in chunk:
                each.source, each.warehouse = source.get(each.key), warehouse.get(each.key)
                if self._is_unsent(each.source, each.warehouse):
                    each.source = None

    def _is_unsent(self, source: Row | None, warehouse: Row | None) -> bool:
        return source is not None and warehouse is None and source.hashes == self.null_hashes


def recheck(
    pair: Pair, differences: list[Difference], seconds: float, on_recheck: Callable[[int], None]
) -> tuple[list[Difference], list[Difference]]:
    """The differences that persist, and those that were in flight. `on_recheck` gets the number still pending."""
    pending, arrived = differences, []
    end = monotonic() + seconds
    for interval in itertools.chain(INTERVALS, itertools.repeat(INTERVALS[-1])):
        remaining = end - monotonic()
        if not pending or remaining <= 0:
            break
        on_recheck(len(pending))
        sleep(min(interval, remaining))
        pair.refetch(pending, is_last=interval >= remaining)
        arrived += [each for each in pending if each.is_equal]
        pending = [each for each in pending if not each.is_equal]
    in_flight = [*arrived, *(each for each in pending if each.changed_on_both_sides)]
    return [each for each in pending if not each.changed_on_both_sides], in_flight


def _chunks(differences: Iterable[Difference]) -> Iterator[list[Difference]]:
    remaining = iter(differences)
    while chunk := list(itertools.islice(remaining, CHUNK)):
        yield chunk
