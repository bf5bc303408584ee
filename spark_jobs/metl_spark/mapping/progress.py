"""What a batch of the mapping did, in the form that metl.record_batch takes."""

import json
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from metl_spark.mapping.dead_letters import REASONS
from metl_spark.runtime.limits import Limits
from metl_spark.runtime.progress import lag_and_positions, timing

PERCENTILES = ("p50", "p90", "p99", "max")


def from_spark(progress: StreamingQueryProgress, limits: Limits | None = None) -> dict[str, Any] | None:
    """Null if no batch ran, as when Spark only reports that it waits."""
    report = json.loads(progress.json)
    metrics = report.get("observedMetrics") or {}
    if "matrix" not in metrics:
        return None
    matrix, mapping = metrics["matrix"], metrics.get("mapping", {})
    latency = mapping.get("latency_ms")
    return {
        "state": matrix["state"],
        **timing(report),
        "rows_in": mapping.get("rows_in", 0),
        "rows_out": mapping.get("rows_out", 0),
        "rows_filtered": mapping.get("rows_filtered", 0),
        "dead": {reason: mapping[reason] for reason in REASONS if mapping.get(reason)},
        "latency_ms": dict(zip(PERCENTILES, latency, strict=True)) if latency else None,
        # Clocks differ.
        "behind_ms": max(0, behind) if (behind := mapping.get("behind_ms")) is not None else None,
        "matrix_rows": matrix["rows"],
        "matrix_bytes": matrix["bytes"],
        **lag_and_positions(report, limits),
    }
