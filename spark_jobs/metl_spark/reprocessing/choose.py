"""Which messages of a range are mapped again: those of some versions, where others are right as they are."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl.streams.outdated import OutdatedRange
from metl_spark.mapping.identify import identify
from metl_spark.mapping.look_up import is_tombstone, look_up
from metl_spark.runtime.kafka import Range


@dataclass(frozen=True)
class Choice:
    range: Range
    #: Null for all messages.
    versions: tuple[int, ...] | None = None

    @classmethod
    def of(cls, found: OutdatedRange) -> "Choice":
        versions = tuple(found.versions) if found.other_versions else None
        return cls((found.topic, found.partition, found.first, found.end), versions)

    def within(self, part: Range) -> "Choice | None":
        """The same of a part of the range; null if it is of another."""
        topic, partition, begin, end = self.range
        is_part = (topic, partition) == part[:2] and begin <= part[2] and part[3] <= end
        return Choice(part, self.versions) if is_part else None


def choose(messages: DataFrame, matrix: DataFrame, choices: Sequence[Choice]) -> DataFrame:
    """The messages that are meant, as they came. A tombstone or a truncate concerns every entity that its topic feeds,
    whatever the version: it comes along."""
    if all(each.versions is None for each in choices):
        return messages
    found = look_up(identify(messages, matrix), matrix)
    return found.where(functools.reduce(Column.__or__, map(_is_chosen, choices))).select(*messages.columns)


def _is_chosen(choice: Choice) -> Column:
    topic, partition, begin, end = choice.range
    is_there = (f.col("topic") == topic) & (f.col("partition") == partition) & f.col("offset").between(begin, end - 1)
    if choice.versions is None:
        return is_there
    of_version = f.coalesce(f.col("version").isin(*choice.versions), f.lit(False))
    return is_there & (of_version | is_tombstone() | f.coalesce(f.col("op") == "t", f.lit(False)))
