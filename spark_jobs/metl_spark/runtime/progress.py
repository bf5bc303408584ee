"""What Spark says of a batch, as metl.record_batch takes it."""

import json
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from metl_spark.mapping.look_up import REASONS
from metl_spark.runtime.settings import Limits

PERCENTILES = ("p50", "p90", "p99", "max")


def from_spark(progress: StreamingQueryProgress, limits: Limits | None = None) -> dict[str, Any] | None:
    """Null if the batch did not run, as when Spark only says that it waits."""
    said = json.loads(progress.json)
    observed = said.get("observedMetrics") or {}
    if "matrix" not in observed:
        return None
    matrix, mapping = observed["matrix"], observed.get("mapping", {})
    latency = mapping.get("latency_ms")
    return {
        "state": matrix["state"],
        **spent(said),
        "rows_in": mapping.get("rows_in", 0),
        "rows_out": mapping.get("rows_out", 0),
        "rows_filtered": mapping.get("rows_filtered", 0),
        "dead": {reason: mapping[reason] for reason in REASONS if mapping.get(reason)},
        "latency_ms": dict(zip(PERCENTILES, latency, strict=True)) if latency else None,
        # Clocks differ.
        "behind_ms": max(0, behind) if (behind := mapping.get("behind_ms")) is not None else None,
        "matrix_rows": matrix["rows"],
        "matrix_bytes": matrix["bytes"],
        **whereabouts(said, limits),
    }


def spent(said: dict[str, Any]) -> dict[str, str]:
    began = datetime.fromisoformat(said["timestamp"])
    ended = began + timedelta(milliseconds=said["durationMs"]["triggerExecution"])
    return {"began_at": began.isoformat(), "ended_at": ended.isoformat()}


def whereabouts(said: dict[str, Any], limits: Limits | None = None) -> dict[str, Any]:
    """Within the limits of a load: Spark goes through what is beyond, but nothing of it is mapped."""
    within = limits or Limits()
    return {"lag": _lag(said["sources"], within), "positions": _positions(said["sources"], within)}


def partitions(progress: StreamingQueryProgress) -> int:
    """How many a batch in real time reads: it ends at some offset of each."""
    ends = (source["endOffset"] or {} for source in json.loads(progress.json)["sources"])
    return sum(len(found) for end in ends for found in end.values())


def _positions(sources: list[dict[str, Any]], limits: Limits) -> dict[str, dict[str, list[int | None]]]:
    """For each partition that moved: the first offset read, null if it is read for the first time, and the first one
    not read."""
    found: dict[str, dict[str, list[int | None]]] = {}
    for source in sources:
        before = source.get("startOffset") or {}
        for topic, partitions in (source.get("endOffset") or {}).items():
            for partition, reached in partitions.items():
                start = before.get(topic, {}).get(partition, limits.first_of(topic, partition))
                end = limits.cut(topic, partition, reached)
                if end > (start or 0):
                    found.setdefault(topic, {})[partition] = [start, end]
    return found


def _lag(sources: list[dict[str, Any]], limits: Limits) -> int:
    """How many messages were there and not read when the batch ended."""
    return sum(_behind(source, limits) for source in sources)


def _behind(source: dict[str, Any], limits: Limits) -> int:
    end = source.get("endOffset") or {}
    average = (source.get("metrics") or {}).get("avgOffsetsBehindLatest")
    if average is not None and limits.end is None:
        return round(float(average) * sum(map(len, end.values())))
    return sum(
        max(0, limits.cut(topic, partition, latest) - end.get(topic, {}).get(partition, 0))
        for topic, partitions in (source.get("latestOffset") or {}).items()
        for partition, latest in partitions.items()
    )
