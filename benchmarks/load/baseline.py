"""Runs a Spark baseline: one query to the end of the backlog, on two cores, with default settings."""

import json
import sys
from collections.abc import Callable
from datetime import datetime

from pyspark.sql import DataFrame

from metl.jvm.spark import local_session

CORES = 2


def run(
    brokers: str, checkpoint: str, records: Callable[[DataFrame], DataFrame], source: str, target: str | None = None
) -> None:
    """Prints the seconds from the beginning of the first batch to the end of the last."""
    spark = local_session("baseline", cores=CORES)
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .load()
    )
    writer = (
        records(messages)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
    )
    query = (writer if target is None else writer.option("topic", target)).start()
    query.awaitTermination()
    batches = [json.loads(progress.json) for progress in query.recentProgress]
    began = min(datetime.fromisoformat(batch["timestamp"]).timestamp() for batch in batches)
    last = batches[-1]
    ended = datetime.fromisoformat(last["timestamp"]).timestamp() + last["durationMs"]["triggerExecution"] / 1000
    sys.stdout.write(json.dumps({"seconds": ended - began, "rows": sum(b["numInputRows"] for b in batches)}) + "\n")
    spark.stop()
