"""Gets Spark's planner going before messages have to wait for it.

Each batch of a real-time query is planned anew, by code that the JVM compiles only after it has run many times. A query
on topics that nobody has does nothing but that, several times a second: after it, a boundary takes half as long.
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

from metl_spark.runtime.settings import Settings

SECONDS = 25.0
NOBODYS = "metl-warm-up"


@contextlib.contextmanager
def warm_up(start: Callable[[Settings], StreamingQuery], settings: Settings) -> Iterator[None]:
    """Beside what happens within, for a while. Batches that are short soon warm up by themselves."""
    if settings.trigger != "real-time" or settings.duration < SECONDS:
        yield
        return
    ended = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        idle = replace(settings, topics=NOBODYS, replays=NOBODYS, checkpoint=Path(folder).as_uri(), duration=1)

        def run() -> None:
            # Whatever is wrong, the query that counts will say it.
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
