"""Chooses the messages of a range to map again: those of some versions, where others are right already."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from metl.streams.outdated import OutdatedRange
from metl_spark.mapping.identify import identify, is_tombstone
from metl_spark.mapping.look_up import look_up
from metl_spark.runtime.kafka import Range


@dataclass(frozen=True)
class Choice:
    range: Range
    #: Null for all messages.
    versions: tuple[int, ...] | None = None

    @classmethod
    def of(cls, outdated: OutdatedRange) -> "Choice":
        versions = tuple(outdated.versions) if outdated.other_versions else None
        return cls((outdated.topic, outdated.partition, outdated.first, outdated.end), versions)

    def within(self, part: Range) -> "Choice | None":
        """The same choice of a part of its range; null for a part of another range."""
        topic, partition, begin, end = self.range
        is_part = (topic, partition) == part[:2] and begin <= part[2] and part[3] <= end
        return Choice(part, self.versions) if is_part else None


def choose(messages: DataFrame, entries: DataFrame, choices: Sequence[Choice]) -> DataFrame:
    """The chosen messages, as they came. Tombstones and truncates are included: they concern every entity that their
    topic feeds, whatever the version."""
    if all(each.versions is None for each in choices):
        return messages
    identified = look_up(identify(messages, entries), entries)
    return identified.where(functools.reduce(Column.__or__, map(_is_chosen, choices))).select(*messages.columns)


def _is_chosen(choice: Choice) -> Column:
    topic, partition, begin, end = choice.range
    is_in_partition = (f.col("topic") == topic) & (f.col("partition") == partition)
    is_in_range = is_in_partition & f.col("offset").between(begin, end - 1)
    if choice.versions is None:
        return is_in_range
    of_version = f.coalesce(f.col("version").isin(*choice.versions), f.lit(False))
    return is_in_range & (of_version | is_tombstone() | f.coalesce(f.col("op") == "t", f.lit(False)))
