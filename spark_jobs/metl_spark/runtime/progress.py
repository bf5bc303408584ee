"""What Spark reports of a batch, in the form that metl.record_batch takes."""

import json
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from metl_spark.runtime.limits import Limits


def timing(report: dict[str, Any]) -> dict[str, str]:
    began = datetime.fromisoformat(report["timestamp"])
    ended = began + timedelta(milliseconds=report["durationMs"]["triggerExecution"])
    return {"began_at": began.isoformat(), "ended_at": ended.isoformat()}


def lag_and_positions(report: dict[str, Any], limits: Limits | None = None) -> dict[str, Any]:
    """Within the limits of a load: Spark reads what is beyond, but nothing of it is mapped."""
    within = limits or Limits()
    return {"lag": _lag(report["sources"], within), "positions": _positions(report["sources"], within)}


def partitions(progress: StreamingQueryProgress) -> int:
    """How many partitions a batch in real time reads: it has an end offset of each."""
    ends = (source["endOffset"] or {} for source in json.loads(progress.json)["sources"])
    return sum(len(offsets) for end in ends for offsets in end.values())


def _positions(sources: list[dict[str, Any]], limits: Limits) -> dict[str, dict[str, list[int | None]]]:
    """Of each partition that advanced: the first offset read, null if there was none before, and the first offset not
    read."""
    positions: dict[str, dict[str, list[int | None]]] = {}
    for source in sources:
        before = source.get("startOffset") or {}
        for topic, offsets in (source.get("endOffset") or {}).items():
            for partition, reached in offsets.items():
                start = before.get(topic, {}).get(partition, limits.first_of(topic, partition))
                end = limits.cut(topic, partition, reached)
                if end > (start or 0):
                    positions.setdefault(topic, {})[partition] = [start, end]
    return positions


def _lag(sources: list[dict[str, Any]], limits: Limits) -> int:
    """Messages that were in Kafka and not read when the batch ended."""
    return sum(_lag_of(source, limits) for source in sources)


def _lag_of(source: dict[str, Any], limits: Limits) -> int:
    end = source.get("endOffset") or {}
    average = (source.get("metrics") or {}).get("avgOffsetsBehindLatest")
    if average is not None and limits.end is None:
        return round(float(average) * sum(map(len, end.values())))
    return sum(
        max(0, limits.cut(topic, partition, latest) - end.get(topic, {}).get(partition, 0))
        for topic, offsets in (source.get("latestOffset") or {}).items()
        for partition, latest in offsets.items()
    )
