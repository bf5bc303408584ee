"""What a batch did, as metl.record_batch takes it."""

import json
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from metl_spark.runtime.progress import spent, whereabouts
from metl_spark.warehouse.merge import Merged


def from_spark(progress: StreamingQueryProgress, merged: Merged) -> dict[str, Any] | None:
    """Null if the batch did not run, as when Spark only says that it waits."""
    said = json.loads(progress.json)
    counts = merged.get(said["batchId"])
    if counts is None or not said["numInputRows"]:
        return None
    return {
        "state": counts["state"],
        **spent(said),
        "rows_in": said["numInputRows"],
        "rows_out": said["numInputRows"] - counts["rejected"],
        "rows_filtered": 0,
        "dead": {"rejected": counts["rejected"]} if counts["rejected"] else {},
        **whereabouts(said),
    }
