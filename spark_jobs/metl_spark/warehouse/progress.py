"""What a batch of the warehouse did, in the form that metl.record_batch takes."""

import json
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from metl_spark.runtime.progress import lag_and_positions, timing
from metl_spark.warehouse.merge import Merged


def from_spark(progress: StreamingQueryProgress, merged: Merged) -> dict[str, Any] | None:
    """Null if no batch ran, as when Spark only reports that it waits."""
    report = json.loads(progress.json)
    counts = merged.get(report["batchId"])
    if counts is None or not report["numInputRows"]:
        return None
    return {
        "state": counts["state"],
        **timing(report),
        "rows_in": report["numInputRows"],
        "rows_out": report["numInputRows"] - counts["rejected"],
        "rows_filtered": 0,
        "dead": {"rejected": counts["rejected"]} if counts["rejected"] else {},
        **lag_and_positions(report),
    }
