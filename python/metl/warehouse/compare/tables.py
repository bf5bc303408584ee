"""One schema's table beside the warehouse's."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import psycopg
from sqlglot import exp

from metl.warehouse.compare import hashes, leftovers
from metl.warehouse.compare.columns import chosen, warehouse_shape
from metl.warehouse.compare.recheck import CHUNK, REMEMBERED, Pair, settle
from metl.warehouse.compare.sides import SETTINGS, source_side, warehouse_side
from metl.warehouse.compare.tally import EXTRA, REAL, Tally, read_rejections
from metl.warehouse.initial_load import Feed
from metl.warehouse.table_rows import key_of, told

#: Hears what is being done, how much of it, and of how much.
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Settings:
    sample: int | None
    examples: int
    #: Seconds for which rows that differ are looked at again.
    wait: float


@dataclass(frozen=True)
class Comparison:
    feed: Feed
    topic: str
    table: str
    #: How many there are at either end, and how many are equal.
    rows: int
    equal: int
    tally: Tally
    #: So many rows differ that they were looked at only once.
    is_rough: bool
    #: Other rows were not looked at.
    is_sample: bool
    #: Attributes that are not compared, and why not.
    left_out: dict[str, str]
    #: Attributes that the newest version does not feed, and how many rows have a value of them all the same.
    not_fed: dict[str, int]

    @property
    def differs(self) -> bool:
        return any(self.tally.counts[kind] for kind in REAL)


def prepare(*connections: psycopg.Connection) -> None:
    """For reading snapshots, with the same text for the same value at both ends."""
    for connection in connections:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(SETTINGS)
        connection.commit()


def compare(
    source: psycopg.Connection, warehouse: psycopg.Connection, feed: Feed, topic: str, table: exp.Table,
    settings: Settings, progress: Progress,
) -> Comparison:  # fmt: skip
    """Both connections must be prepared."""
    made, names = warehouse_shape(warehouse, feed)
    with told(table):
        key = key_of(source, table)
    columns, left_out = chosen(source, table, warehouse, made, names, feed)
    with told(table):
        hashes.require_alike(source, warehouse)
    same_encoding = hashes.same_encoding(source, warehouse)
    there = source_side(source, table, key, columns, same_encoding=same_encoding)
    here = warehouse_side(warehouse, made, topic, columns, same_encoding=same_encoding)
    pair = Pair(there, here, nothing=None if left_out else there.nothing())
    pair.begin()
    last = None if settings.sample is None else there.sample(settings.sample)
    if last is not None:
        pair = replace(pair, source=there.up_to(last), warehouse=here.up_to(last))
    unfed = {name: column for name, column in names.items() if name not in feed.sources}
    not_fed = leftovers.not_fed(warehouse, made, topic, unfed)
    tally = Tally(pair, columns, read_rejections(warehouse, feed.entity, topic), settings.examples)
    rows, equal, is_rough = _count(pair, tally, settings.wait, progress)
    return Comparison(
        feed, topic, table.sql("postgres"), rows, equal, tally, is_rough, last is not None, left_out, not_fed
    )


def _count(pair: Pair, tally: Tally, wait: float, progress: Progress) -> tuple[int, int, bool]:
    """How many rows there are, how many are equal, and whether too many differ to look at them again."""
    progress("hashing", 0, None)
    source, warehouse = pair.sums()
    buckets = [each for each in source.keys() | warehouse.keys() if source.get(each) != warehouse.get(each)]
    rows = sum(count for count, _ in source.values())
    if not buckets:
        return rows, rows, False
    looked_at, most = itertools.count(CHUNK, CHUNK), max(_rows(source, buckets), _rows(warehouse, buckets))
    found = pair.differences(buckets, lambda: progress("rows", next(looked_at), most))
    remembered = list(itertools.islice(found, REMEMBERED + 1))
    is_rough = len(remembered) > REMEMBERED
    if is_rough:
        tally.add(itertools.chain(remembered, found))
        extra, differing = tally.counts[EXTRA], tally.counts.total()
    else:
        extra, differing = sum(each.source is None for each in remembered), len(remembered)
        left, in_flight = settle(pair, remembered, wait, lambda count: progress(f"{count:,} in flight?", 0, None))
        tally.add(left)
        tally.add_in_flight(in_flight)
    return rows + extra, rows + extra - differing, is_rough


def _rows(sums: dict[int, tuple[int, str]], buckets: list[int]) -> int:
    return sum(sums[each][0] for each in buckets if each in sums)
