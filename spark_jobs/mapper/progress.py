"""What Spark says of a batch, as metl.record_batch takes it."""

import json
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from mapper.look_up import REASONS

PERCENTILES = ("p50", "p90", "p99", "max")


def from_spark(progress: StreamingQueryProgress) -> dict[str, Any] | None:
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
        "matrix_rows": matrix["rows"],
        "matrix_bytes": matrix["bytes"],
        **whereabouts(said),
    }


def spent(said: dict[str, Any]) -> dict[str, str]:
    began = datetime.fromisoformat(said["timestamp"])
    ended = began + timedelta(milliseconds=said["durationMs"]["triggerExecution"])
    return {"began_at": began.isoformat(), "ended_at": ended.isoformat()}


def whereabouts(said: dict[str, Any]) -> dict[str, Any]:
    return {"lag": _lag(said["sources"]), "positions": _positions(said["sources"])}


def partitions(progress: StreamingQueryProgress) -> int:
    """How many a batch in real time reads: it ends at some offset of each."""
    ends = (source["endOffset"] or {} for source in json.loads(progress.json)["sources"])
    return sum(len(found) for end in ends for found in end.values())


def _positions(sources: list[dict[str, Any]]) -> dict[str, dict[str, list[int | None]]]:
    """For each partition that moved: the first offset read, null if it is read for the first time, and the first one
    not read."""
    found: dict[str, dict[str, list[int | None]]] = {}
    for source in sources:
        before = source.get("startOffset") or {}
        for topic, partitions in (source.get("endOffset") or {}).items():
            for partition, end in partitions.items():
                start = before.get(topic, {}).get(partition)
                if end > (start or 0):
                    found.setdefault(topic, {})[partition] = [start, end]
    return found


def _lag(sources: list[dict[str, Any]]) -> int:
    """How many messages were there and not read when the batch ended."""
    return sum(map(_behind, sources))


def _behind(source: dict[str, Any]) -> int:
    end = source.get("endOffset") or {}
    average = (source.get("metrics") or {}).get("avgOffsetsBehindLatest")
    if average is not None:
        return round(float(average) * sum(map(len, end.values())))
    return sum(
        max(0, latest - end.get(topic, {}).get(partition, 0))
        for topic, partitions in (source.get("latestOffset") or {}).items()
        for partition, latest in partitions.items()
    )
