"""Maps chosen messages once more: those that outdated cells mapped, or some to compare two states with.

metl reprocess --since-state 17       metl diff-replay --state 17 --state 18 --topic shop.public.customer
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
from metl_spark.mapping.job import mapped
from metl_spark.mapping.look_up import REASONS
from metl_spark.reprocessing.choose import Choice, choose
from metl_spark.reprocessing.take_back import SENT, placed, take_back
from metl_spark.runtime import kafka
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import in_a_sentence
from metl_spark.runtime.kafka import Range
from metl_spark.runtime.settings import Settings
from metl_spark.runtime.supervise import STOPPED

# Messages that one query maps: it keeps its records on disk to count them before they go.
MOST = 500_000


def layers(ranges: Sequence[Range], most: int = MOST) -> Iterator[list[Range]]:
    """A query reads one range of each partition, and not too much of it; the others come in further queries."""
    by_partition: dict[tuple[str, int], list[Range]] = defaultdict(list)
    size = max(1, most // max(1, len({each[:2] for each in ranges})))
    for topic, partition, begin, end in sorted(ranges):
        for start in range(begin, end, size):
            by_partition[topic, partition].append((topic, partition, start, min(start + size, end)))
    for number in range(max(map(len, by_partition.values()), default=0)):
        yield [found[number] for found in by_partition.values() if number < len(found)]


@dataclass
class Done:
    messages: int = 0
    #: Records of earlier states that the current one does not send.
    taken_back: int = 0


def reprocess(
    spark: SparkSession,
    settings: Settings,
    control: Control,
    instance: str,
    choices: Sequence[Choice],
    earlier: Sequence[int],
    say: Callable[[str], None],
) -> Done:
    """Maps these messages under the current state, takes back what only the earlier ones sent, and records all that as
    batches of the job; an error if it ends before."""
    done = Done()
    control.report("running")
    try:
        # The newest first, here and in a layer: the warehouse takes what a record left out (a value that Debezium did
        # not find in the log) from older ones that come after it. Those that came before it are forgotten.
        for number, layer in enumerate(reversed(list(_layers(choices)))):
            with in_a_sentence():
                progress, taken_back = _map(spark, settings, control, instance, layer, earlier)
            control.record(number, progress)
            control.tend()
            done.messages += progress["rows_in"]
            done.taken_back += taken_back
            undone = f", and {taken_back} records of earlier states taken back" if taken_back else ""
            say(f"{progress['rows_in']} messages were mapped under state {progress['state']}{undone}.")
    except MetlError as error:
        is_told = STOPPED in str(error)
        control.report("stopped" if is_told else "failed", None if is_told else str(error))
        why = f"Job {settings.job} was told to stop." if is_told else f"Job {settings.job} failed: {error}"
        raise MetlError(
            f"{why} {done.messages:,} messages were mapped again until then; the same command goes on with what is "
            "left."
        ) from None
    control.report("stopped")
    return done


def _map(
    spark: SparkSession,
    settings: Settings,
    control: Control,
    instance: str,
    layer: list[Choice],
    earlier: Sequence[int],
) -> tuple[dict[str, Any], int]:
    began = datetime.now(UTC)
    state, known = _frozen(matrix.read(spark, control.jdbc, settings.job, instance), settings)
    messages = _read(spark, settings, known, layer)
    records = mapped(messages, known, settings).persist(StorageLevel.DISK_ONLY)
    is_dead = f.col("reason").isNotNull()
    [seen] = records.agg(
        f.count_if(f.coalesce("position", f.lit(0)) == 0).alias("rows_in"),
        f.count_if(f.col("topic").isNotNull() & ~is_dead).alias("rows_out"),
        f.count_if(f.col("topic").isNull()).alias("rows_filtered"),
        *(f.count_if(f.col("reason") == reason).alias(reason) for reason in REASONS),
    ).collect()
    sent = placed(records.where(f.col("topic").isNotNull())).select(*SENT)
    before = [
        mapped(messages, old, settings)
        for _, old in (_frozen(matrix.read_at(spark, control.jdbc, each), settings) for each in earlier)
    ]
    taken_back = 0
    if before:
        live = [f"{settings.prefix}{entity}" for entity in matrix.live_entities(spark, control.jdbc)]
        undone = take_back(records, before, known, live, state).persist(StorageLevel.DISK_ONLY)
        taken_back = undone.count()
        if taken_back:
            sent = sent.unionAll(undone).repartition("source", "source_partition")
    newest_first = sent.sortWithinPartitions(f.col("offset").desc())
    kafka.write_once(newest_first.select("topic", "key", "value", "headers"), settings)
    if before:
        undone.unpersist()
    records.unpersist()
    positions: dict[str, dict[str, list[int]]] = {}
    for topic, partition, begin, end in (each.range for each in layer):
        positions.setdefault(topic, {})[str(partition)] = [begin, end]
    progress = {
        "state": state,
        "began_at": began.isoformat(),
        "ended_at": datetime.now(UTC).isoformat(),
        "rows_in": seen["rows_in"],
        "rows_out": seen["rows_out"] + taken_back,
        "rows_filtered": seen["rows_filtered"],
        "dead": {reason: seen[reason] for reason in REASONS if seen[reason]},
        "positions": positions,
    }
    return progress, taken_back


def count(
    spark: SparkSession, settings: Settings, jdbc: dict[str, str], state: int, choices: Sequence[Choice]
) -> list[int]:
    """How many messages each of these is, as a state tells their versions."""
    _, known = _frozen(matrix.read_at(spark, jdbc, state), settings)
    found = dict.fromkeys(choices, 0)
    for layer in _layers(choices):
        rows = _read(spark, settings, known, layer).groupBy("topic", "partition").count().collect()
        counts = {(row["topic"], row["partition"]): row["count"] for row in rows}
        for choice, part in ((choice, part) for choice in choices for part in layer if choice.within(part.range)):
            found[choice] += counts.get(part.range[:2], 0)
    return [found[choice] for choice in choices]


def _layers(choices: Sequence[Choice]) -> Iterator[list[Choice]]:
    for layer in layers([each.range for each in choices]):
        yield [part for each in layer for choice in choices if (part := choice.within(each))]


def _read(spark: SparkSession, settings: Settings, known: DataFrame, layer: Sequence[Choice]) -> DataFrame:
    return choose(kafka.read_ranges(spark, settings, [each.range for each in layer]), known, layer)


def _frozen(rows: DataFrame, settings: Settings) -> tuple[int, DataFrame]:
    """The state, and the matrix of that very moment: it is read once and kept, or the query fails."""
    kept = rows.localCheckpoint()
    [row] = kept.agg(f.max("state").alias("state")).collect()
    return row["state"], matrix.entries(kept, settings.prefix)


def under(
    spark: SparkSession, settings: Settings, jdbc: dict[str, str], state: int, ranges: Sequence[Range]
) -> Iterator[Row]:
    """What a state makes of messages: topic (null if left out), value, reason and headers of each record."""
    _, known = _frozen(matrix.read_at(spark, jdbc, state), settings)
    for layer in layers(ranges):
        records = mapped(kafka.read_ranges(spark, settings, layer), known, settings)
        yield from records.select("topic", "value", "reason", "headers").toLocalIterator()
