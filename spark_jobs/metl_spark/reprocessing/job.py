"""Maps messages once more: those that outdated cells mapped, or some to compare two states.

metl streams reprocess --since-state 17       metl streams diff 17 18 --topic shop.public.customer
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from metl.errors import MetlError
from metl_spark.mapping import matrix
from metl_spark.mapping.dead_letters import REASONS
from metl_spark.mapping.job import map_messages
from metl_spark.mapping.restore import without_replays
from metl_spark.reprocessing.choose import Choice, choose
from metl_spark.reprocessing.retract import SENT, retract, with_origin
from metl_spark.reprocessing.settings import ReprocessSettings
from metl_spark.runtime import kafka
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import explained
from metl_spark.runtime.kafka import Range
from metl_spark.runtime.supervise import STOPPED

# Messages of one query, which keeps its records on disk to count them before it sends them.
MOST = 500_000


def layers(ranges: Sequence[Range], most: int = MOST) -> Iterator[list[Range]]:
    """A query reads one range of each partition, of limited size; further ones are for further queries."""
    by_partition: dict[tuple[str, int], list[Range]] = defaultdict(list)
    size = max(1, most // max(1, len({each[:2] for each in ranges})))
    for topic, partition, begin, end in sorted(ranges):
        for start in range(begin, end, size):
            by_partition[topic, partition].append((topic, partition, start, min(start + size, end)))
    for number in range(max(map(len, by_partition.values()), default=0)):
        yield [parts[number] for parts in by_partition.values() if number < len(parts)]


@dataclass
class Result:
    messages: int = 0
    #: Records of earlier states that the current one does not send.
    retracted: int = 0


def reprocess(
    spark: SparkSession,
    settings: ReprocessSettings,
    control: Control,
    instance: str,
    choices: Sequence[Choice],
    earlier: Sequence[int],
    say: Callable[[str], None],
) -> Result:
    """Maps these messages under the current state, retracts what only the earlier states sent, and records all that as
    batches of the job; an error if it ends before."""
    result = Result()
    control.report("running")
    try:
        # The newest first, here and in a layer. The warehouse fills a value that a record lacks (Debezium did not find
        # it in the log) from older records, if they arrive after it.
        for number, layer in enumerate(reversed(list(_layers(choices)))):
            with explained():
                progress, retracted = _map(spark, settings, control, instance, layer, earlier)
            control.record(number, progress)
            control.heartbeat()
            result.messages += progress["rows_in"]
            result.retracted += retracted
            undone = f", and {retracted} records of earlier states taken back" if retracted else ""
            say(f"{progress['rows_in']} messages were mapped under state {progress['state']}{undone}.")
    except MetlError as error:
        is_stopped = STOPPED in str(error)
        control.report("stopped" if is_stopped else "failed", None if is_stopped else str(error))
        why = f"Job {settings.job} was told to stop." if is_stopped else f"Job {settings.job} failed: {error}"
        raise MetlError(
            f"{why} {result.messages:,} messages were mapped again until then; the same command goes on with what is "
            "left."
        ) from None
    control.report("stopped")
    return result


def _map(
    spark: SparkSession,
    settings: ReprocessSettings,
    control: Control,
    instance: str,
    layer: list[Choice],
    earlier: Sequence[int],
) -> tuple[dict[str, Any], int]:
    began = datetime.now(UTC)
    state, entries = _materialize(matrix.read(spark, control.jdbc, settings.job, instance), settings)
    messages = _read(spark, settings, entries, layer)
    records = map_messages(messages, entries, settings).persist(StorageLevel.DISK_ONLY)
    is_dead = f.col("reason").isNotNull()
    [counts] = records.agg(
        f.count_if(f.coalesce("position", f.lit(0)) == 0).alias("rows_in"),
        f.count_if(f.col("topic").isNotNull() & ~is_dead).alias("rows_out"),
        f.count_if(f.col("topic").isNull()).alias("rows_filtered"),
        *(f.count_if(f.col("reason") == reason).alias(reason) for reason in REASONS),
    ).collect()
    sent = with_origin(records.where(f.col("topic").isNotNull())).select(*SENT)
    before = [
        map_messages(messages, old, settings)
        for _, old in (_materialize(matrix.read_at(spark, control.jdbc, each), settings) for each in earlier)
    ]
    retracted = 0
    if before:
        live = [f"{settings.prefix}{entity}" for entity in matrix.live_entities(spark, control.jdbc)]
        retractions = retract(records, before, entries, live, state).persist(StorageLevel.DISK_ONLY)
        retracted = retractions.count()
        if retracted:
            sent = sent.unionAll(retractions).repartition("source", "source_partition")
    newest_first = sent.sortWithinPartitions(f.col("offset").desc())
    kafka.write_batch(newest_first.select("topic", "key", "value", "headers"), settings)
    if before:
        retractions.unpersist()
    records.unpersist()
    positions: dict[str, dict[str, list[int]]] = {}
    for topic, partition, begin, end in (each.range for each in layer):
        positions.setdefault(topic, {})[str(partition)] = [begin, end]
    progress = {
        "state": state,
        "began_at": began.isoformat(),
        "ended_at": datetime.now(UTC).isoformat(),
        "rows_in": counts["rows_in"],
        "rows_out": counts["rows_out"] + retracted,
        "rows_filtered": counts["rows_filtered"],
        "dead": {reason: counts[reason] for reason in REASONS if counts[reason]},
        "positions": positions,
    }
    return progress, retracted


def count(
    spark: SparkSession, settings: ReprocessSettings, jdbc: dict[str, str], state: int, choices: Sequence[Choice]
) -> list[int]:
    """The number of messages of each choice, with the versions as a state has them."""
    _, entries = _materialize(matrix.read_at(spark, jdbc, state), settings)
    totals = dict.fromkeys(choices, 0)
    for layer in _layers(choices):
        rows = _read(spark, settings, entries, layer).groupBy("topic", "partition").count().collect()
        counts = {(row["topic"], row["partition"]): row["count"] for row in rows}
        for choice, part in ((choice, part) for choice in choices for part in layer if choice.within(part.range)):
            totals[choice] += counts.get(part.range[:2], 0)
    return [totals[choice] for choice in choices]


def _layers(choices: Sequence[Choice]) -> Iterator[list[Choice]]:
    for layer in layers([each.range for each in choices]):
        yield [part for each in layer for choice in choices if (part := choice.within(each))]


def _read(spark: SparkSession, settings: ReprocessSettings, entries: DataFrame, layer: Sequence[Choice]) -> DataFrame:
    messages = kafka.read_ranges(spark, settings, [each.range for each in layer])
    return without_replays(choose(messages, entries, layer))


def _materialize(rows: DataFrame, settings: ReprocessSettings) -> tuple[int, DataFrame]:
    """The state and its entries: read once and kept, so that all of a query maps under one state. The query fails if
    Spark loses them."""
    kept = rows.localCheckpoint()
    [row] = kept.agg(f.max("state").alias("state")).collect()
    return row["state"], matrix.entries(kept, settings.prefix)


def map_at(
    spark: SparkSession, settings: ReprocessSettings, jdbc: dict[str, str], state: int, ranges: Sequence[Range]
) -> Iterator[Row]:
    """The records of messages under a state: topic (null if filtered), value, reason and headers."""
    _, entries = _materialize(matrix.read_at(spark, jdbc, state), settings)
    for layer in layers(ranges):
        messages = without_replays(kafka.read_ranges(spark, settings, layer))
        records = map_messages(messages, entries, settings)
        yield from records.select("topic", "value", "reason", "headers").toLocalIterator()
