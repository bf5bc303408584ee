"""Warms up Spark's planner before messages have to wait for it.

Each batch of a real-time query is planned anew, by code that the JVM compiles only after it has run many times. A query
on topics that do not exist only plans, several times a second: after it, a batch boundary takes half as long.
"""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from metl_spark.mapping.settings import MapSettings

SECONDS = 25.0
NO_TOPIC = "metl-warm-up"


@contextlib.contextmanager
def warm_up(start: Callable[[MapSettings], StreamingQuery], settings: MapSettings) -> Iterator[None]:
    """In the background of the block, for a while. Short batches soon warm up by themselves."""
    if settings.trigger != "real-time" or settings.duration < SECONDS:
        yield
        return
    ended = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        idle = replace(settings, topics=NO_TOPIC, replays=NO_TOPIC, checkpoint=Path(folder).as_uri(), duration=1)

        def run() -> None:
            # The query of the job reports what is wrong.
            with contextlib.suppress(PySparkException, Py4JError, ConnectionError):
                query = start(idle)
                ended.wait(SECONDS)
                query.stop()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
