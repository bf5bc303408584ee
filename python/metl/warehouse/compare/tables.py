"""Compares one schema's table with the warehouse's."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import psycopg
from sqlglot import exp

from metl.warehouse.compare import hashes, orphans
from metl.warehouse.compare.columns import comparable_columns, warehouse_columns
from metl.warehouse.compare.differences import CHUNK, MAX_RECHECKED, Pair, recheck
from metl.warehouse.compare.sides import SETTINGS, source_side, warehouse_side
from metl.warehouse.compare.summary import EXTRA, REAL, Summary, read_rejections
from metl.warehouse.initial_load import Feed
from metl.warehouse.table_rows import key_of, source_errors

#: Called with the current step, how much of it is done, and the total if known.
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Settings:
    #: How many rows to compare; None is all.
    sample: int | None
    examples: int
    #: Seconds for which rows that differ are rechecked.
    wait: float


@dataclass(frozen=True)
class Comparison:
    feed: Feed
    topic: str
    table: str
    #: How many rows at least one side has, and how many are equal.
    rows: int
    equal: int
    summary: Summary
    #: So many rows differ that they were not rechecked.
    is_rough: bool
    #: Only some of the rows were compared.
    is_sample: bool
    #: Attributes that are not compared, and why not.
    not_compared: dict[str, str]
    #: Attributes that the newest version does not feed, and how many warehouse rows still have a value of them.
    not_fed: dict[str, int]

    @property
    def differs(self) -> bool:
        return any(self.summary.counts[kind] for kind in REAL)


def prepare(*connections: psycopg.Connection) -> None:
    """For reading snapshots, with the same text for the same value on both sides."""
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
    name, column_names = warehouse_columns(warehouse, feed)
    with source_errors(table):
        key = key_of(source, table)
    columns, not_compared = comparable_columns(source, table, warehouse, name, column_names, feed)
    with source_errors(table):
        hashes.require_same_hashes(source, warehouse)
    same_encoding = hashes.same_encoding(source, warehouse)
    left = source_side(source, table, key, columns, same_encoding=same_encoding)
    right = warehouse_side(warehouse, name, topic, columns, same_encoding=same_encoding)
    pair = Pair(left, right, null_hashes=None if not_compared else left.null_hashes())
    pair.begin_snapshots()
    limit = None if settings.sample is None else left.sample_limit(settings.sample)
    if limit is not None:
        pair = replace(pair, source=left.up_to(limit), warehouse=right.up_to(limit))
    unfed = {attribute: column for attribute, column in column_names.items() if attribute not in feed.sources}
    not_fed = orphans.count_unfed_values(warehouse, name, topic, unfed)
    summary = Summary(pair, columns, read_rejections(warehouse, feed.entity, topic), settings.examples)
    rows, equal, is_rough = _summarize(pair, summary, settings.wait, progress)
    return Comparison(
        feed, topic, table.sql("postgres"), rows, equal, summary, is_rough, limit is not None, not_compared, not_fed
    )


def _summarize(pair: Pair, summary: Summary, wait: float, progress: Progress) -> tuple[int, int, bool]:
    """The number of rows and of equal ones, and whether too many differ for a recheck."""
    progress("hashing", 0, None)
    source, warehouse = pair.checksums()
    buckets = [each for each in source.keys() | warehouse.keys() if source.get(each) != warehouse.get(each)]
    rows = sum(count for count, _ in source.values())
    if not buckets:
        return rows, rows, False
    done, total = itertools.count(CHUNK, CHUNK), max(_row_count(source, buckets), _row_count(warehouse, buckets))
    differences = pair.differences(buckets, lambda: progress("rows", next(done), total))
    first = list(itertools.islice(differences, MAX_RECHECKED + 1))
    is_rough = len(first) > MAX_RECHECKED
    if is_rough:
        summary.add(itertools.chain(first, differences))
        extra, differing = summary.counts[EXTRA], summary.counts.total()
    else:
        extra, differing = sum(each.source is None for each in first), len(first)
        persistent, in_flight = recheck(pair, first, wait, lambda count: progress(f"{count:,} in flight?", 0, None))
        summary.add(persistent)
        summary.add_in_flight(in_flight)
    return rows + extra, rows + extra - differing, is_rough


def _row_count(checksums: dict[int, tuple[int, str]], buckets: list[int]) -> int:
    return sum(checksums[each][0] for each in buckets if each in checksums)
