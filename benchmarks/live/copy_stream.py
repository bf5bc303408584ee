"""A baseline: Spark in real-time mode with the mapper's settings, copying a topic."""

import sys
import time
from pathlib import Path

from metl_spark.mapping.settings import MapSettings
from metl_spark.runtime import kafka
from metl_spark.runtime.session import session


def main(brokers: str, source: str, target: str, checkpoint: str, duration: str, boundaries: str) -> None:
    """Appends the end time of each batch to the file `boundaries`, in seconds since 1970."""
    settings = MapSettings(
        topics=source, job="copy", checkpoint=checkpoint, brokers=brokers, duration=float(duration), prefix="entity."
    )
    with session(settings) as spark, Path(boundaries).open("w", encoding="utf-8") as ends:
        records = kafka.read(spark, settings).select("key", "value", "headers")
        query = kafka.write(records, settings).option("topic", target).start()
        batches = 0
        while query.isActive:
            time.sleep(0.1)
            progress = query.lastProgress
            if progress is not None and progress["batchId"] >= batches:
                batches = progress["batchId"] + 1
                ends.write(f"{time.time()}\n")
                ends.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
