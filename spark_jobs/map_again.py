"""Maps chosen messages once more: those that outdated cells mapped, or some to compare two states with.

metl reprocess --since-state 17       metl diff-replay --state 17 --state 18 --topic shop.public.customer
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from map_stream import mapped
from mapper import kafka, matrix
from mapper.control import Control
from mapper.failures import in_a_sentence
from mapper.kafka import Range
from mapper.look_up import REASONS
from mapper.settings import Settings
from mapper.supervise import TOLD_TO_STOP
from metl.errors import MetlError

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


def reprocess(
    spark: SparkSession,
    settings: Settings,
    control: Control,
    instance: str,
    ranges: Sequence[Range],
    say: Callable[[str], None],
) -> int:
    """Maps these ranges under the current state, records them as batches of the job, and returns how many messages
    there were; an error if it ends before."""
    count = 0
    control.report("running")
    try:
        for number, layer in enumerate(layers(ranges)):
            with in_a_sentence():
                progress = _map(spark, settings, control, instance, layer)
            control.record(number, progress)
            control.tend()
            count += progress["rows_in"]
            say(f"{progress['rows_in']} messages were mapped under state {progress['state']}.")
    except MetlError as error:
        is_told = TOLD_TO_STOP in str(error)
        control.report("stopped" if is_told else "failed", None if is_told else str(error))
        why = f"Job {settings.job} was told to stop." if is_told else f"Job {settings.job} failed: {error}"
        raise MetlError(
            f"{why} {count:,} messages were mapped again until then; the same command goes on with what is left."
        ) from None
    control.report("stopped")
    return count


def _map(
    spark: SparkSession, settings: Settings, control: Control, instance: str, layer: list[Range]
) -> dict[str, Any]:
    began = datetime.now(UTC)
    state, known = _frozen(matrix.read(spark, control.jdbc, settings.job, instance), settings)
    records = mapped(kafka.read_ranges(spark, settings, layer), known, settings).persist(StorageLevel.DISK_ONLY)
    is_dead = f.col("reason").isNotNull()
    [seen] = records.agg(
        f.count_if(f.coalesce("position", f.lit(0)) == 0).alias("rows_in"),
        f.count_if(f.col("topic").isNotNull() & ~is_dead).alias("rows_out"),
        f.count_if(f.col("topic").isNull()).alias("rows_filtered"),
        *(f.count_if(f.col("reason") == reason).alias(reason) for reason in REASONS),
    ).collect()
    sent = records.where(f.col("topic").isNotNull()).select("topic", "key", "value", "headers")
    kafka.write_once(sent, settings)
    records.unpersist()
    positions: dict[str, dict[str, list[int]]] = {}
    for topic, partition, begin, end in layer:
        positions.setdefault(topic, {})[str(partition)] = [begin, end]
    return {
        "state": state,
        "began_at": began.isoformat(),
        "ended_at": datetime.now(UTC).isoformat(),
        **{name: seen[name] for name in ("rows_in", "rows_out", "rows_filtered")},
        "dead": {reason: seen[reason] for reason in REASONS if seen[reason]},
        "positions": positions,
    }


def _frozen(rows: DataFrame, settings: Settings) -> tuple[int, DataFrame]:
    """The state, and the matrix of that very moment: it is read once and kept, or the query fails."""
    kept = rows.localCheckpoint()
    [row] = kept.agg(f.max("state").alias("state")).collect()
    return row["state"], matrix.prepare(kept, settings.prefix)


def under(
    spark: SparkSession, settings: Settings, jdbc: dict[str, str], state: int, ranges: Sequence[Range]
) -> Iterator[Row]:
    """What a state makes of messages: topic (null if left out), value, reason and headers of each record."""
    _, known = _frozen(matrix.read_at(spark, jdbc, state), settings)
    for layer in layers(ranges):
        records = mapped(kafka.read_ranges(spark, settings, layer), known, settings)
        yield from records.select("topic", "value", "reason", "headers").toLocalIterator()
