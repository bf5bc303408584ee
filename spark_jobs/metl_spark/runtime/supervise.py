"""Keeps a mapper going: restarts it after failures, ends it where nothing is lost."""

import json
import re
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, IllegalArgumentException, StreamingQueryException
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from metl.errors import BadInput, MetlError
from metl_spark.mapping.look_up import HALT
from metl_spark.runtime.connectors import Connectors
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import first_line, messages
from metl_spark.runtime.progress import from_spark, partitions
from metl_spark.runtime.session import task_slots
from metl_spark.runtime.settings import Settings

TIMEOUT = (1, 2, 4, 8, 15, 30)
LOOK = 0.5
STOPPED = "was told to stop."
#: Around a sentence that somebody has to read before the job can go on.
REFUSED = "METL-REFUSED "
AWAY = "FAILED_JDBC.CONNECTION"
NOTHING_THERE = "No topic matches"
REFUSED_BY_KAFKA = re.compile(r"Invalid value .* for configuration .*")
# What trying again does not mend, and the way out. Tried a few times all the same: a broker that comes back may have
# said so by mistake.
TRIES = 3
HOPELESS = {
    "Some data may have been lost": "Messages that it has not read yet are gone from Kafka: their topic was deleted or "
    "they became too old. To go on with what is left: metl offsets reset JOB --to earliest, or a new --checkpoint. If "
    "the topic was made anew, its offsets begin again and tables would take its messages for old ones. So before that, "
    "let metl warehouse merge what was sent, and then: select metl.forget_positions('TOPIC')",
    "RecordTooLargeException": "A record is larger than its topic takes. Raise max.message.bytes of that topic, and "
    "max.request.size with --kafka-option beyond 32 MB, and start it again",
    "SaslAuthenticationException": "Kafka does not accept who it says it is. Mend the file of --kafka-config",
    "SslAuthenticationException": "Kafka and it do not trust each other. Mend the file of --kafka-config",
    "AuthorizationException": "Kafka does not let it read or write there. Give it the rights",
    "stopped SparkContext": "Spark has stopped. Start it again; it goes on from its last commit",
}


class Stop:
    """Set by the first signal; the second one does not wait."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.at_once = False
        #: For work that it left undone: as of any program that a signal ended.
        self.exit_code = MetlError.exit_code

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.at_once = self.asked.is_set()
        self.asked.set()
        self.exit_code = 128 + number


class Unfinished(MetlError):
    """Told to stop before all that was there was done."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def supervise(
    start: Callable[[], StreamingQuery],
    control: Control,
    settings: Settings,
    say: Callable[[str], None],
    seen: Callable[[dict[str, Any]], None] = lambda _progress: None,
    understood: Callable[[StreamingQueryProgress], dict[str, Any] | None] = from_spark,
) -> None:
    """Returns when the job was told to stop, or when all that was there is done, if that is where it ends; an error if
    it was told to stop before. `seen` is told of each batch, as `understood` makes it of what Spark says."""
    stop = Stop()
    count, left = 0, None

    def noted(batch: dict[str, Any]) -> None:
        nonlocal count, left
        count, left = count + batch["rows_in"], batch.get("lag")
        seen(batch)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    failures = 0
    while True:
        try:
            query = start()
            work = "merges" if settings.reads_entities else "maps"
            say(f"Job {settings.job} {work} {settings.topics} from {settings.checkpoint}.")
            control.report("running")
            failure, batches = _watch(query, control, settings, stop, say, noted, understood)
        except (AnalysisException, IllegalArgumentException) as error:
            # A database that is away at this moment is no reason to give up.
            if failures == 0 and AWAY not in str(error):
                control.report("failed", first_line(str(error)))
                raise BadInput(f"Spark cannot start this: {first_line(str(error))}") from None
            failure, batches = str(error), 0
        except StreamingQueryException as error:
            failure, batches = str(error), 0
        except Py4JJavaError as error:
            # As of the database's driver, which Spark asks for the matrix's columns before it starts.
            failure, batches = messages(error.java_exception), 0
        except (Py4JError, ConnectionError):
            control.report("failed", "Spark's JVM ended.")
            raise MetlError(
                f"Job {settings.job} failed because Spark's JVM ended, killed or out of memory. "
                "Start it again; it goes on from its last commit."
            ) from None
        if stop.at_once or (stop.asked.is_set() and failure and STOPPED not in failure):
            _stop_in_mid_batch(control, settings, stop)
        if failure is None or STOPPED in failure:
            is_unfinished = failure is not None and settings.trigger == "available-now"
            control.report("stopped", "It was told to before it was done." if is_unfinished else None)
            if is_unfinished:
                rest = "" if left is None else f", {left:,} wait"
                raise Unfinished(
                    f"Job {settings.job} was told to stop before it was done: {count:,} messages are committed{rest}. "
                    "The same command goes on from there.",
                    stop.exit_code,
                )
            say(f"Job {settings.job} has stopped; what it sent is committed.")
            return
        if HALT in failure:
            sentence = _halted(failure)
            control.report("halted", sentence)
            raise MetlError(sentence)
        if REFUSED in failure:
            sentence = failure.split(REFUSED)[1]
            control.report("halted", sentence)
            raise MetlError(sentence)
        if "was superseded." in failure:
            raise MetlError(f"Another instance of job {settings.job} has taken over. This one ends.")
        if not failures and not batches and (refusal := REFUSED_BY_KAFKA.search(failure)):
            control.report("failed", refusal[0])
            raise BadInput(f"Kafka's client does not take this option: {refusal[0]}")
        failures = 1 if batches else failures + 1
        if failures >= TRIES and (way_out := next((HOPELESS[sign] for sign in HOPELESS if sign in failure), None)):
            control.report("failed", way_out)
            raise MetlError(f"Job {settings.job} failed {failures} times in a row. {way_out}.")
        wait = TIMEOUT[min(failures, len(TIMEOUT)) - 1]
        reason = first_line(failure)
        control.report("retrying", reason)
        # Who started it knows since the start that there is nothing to read yet.
        if NOTHING_THERE not in failure:
            say(f"Job {settings.job} failed and starts again in {wait} s: {reason}")
        if not _is_told_meanwhile(wait, control, stop):
            continue
        if NOTHING_THERE not in failure:
            _stop_in_mid_batch(control, settings, stop)
        control.report("stopped")
        say(f"Job {settings.job} has stopped; there was nothing to read.")
        return


def _stop_in_mid_batch(control: Control, settings: Settings, stop: Stop) -> NoReturn:
    control.report("stopped", "It did not finish its batch.")
    sentence = f"Job {settings.job} has stopped in mid-batch; what it sent since its last commit is sent again."
    raise Unfinished(sentence, stop.exit_code if settings.trigger == "available-now" else MetlError.exit_code)


def _is_told_meanwhile(seconds: float, control: Control, stop: Stop) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if control.tend() or stop.asked.wait(LOOK):
            return True
    return False


def _watch(
    query: StreamingQuery,
    control: Control,
    settings: Settings,
    stop: Stop,
    say: Callable[[str], None],
    seen: Callable[[dict[str, Any]], None],
    understood: Callable[[StreamingQueryProgress], dict[str, Any] | None],
) -> tuple[str | None, int]:
    """Until the query ends; why it failed, and how many batches it did."""
    connectors = Connectors(control, settings, say)
    last = -1
    batches = 0
    told = requested = False
    while True:
        ended = _has_ended(query)
        for progress in query.recentProgress:
            if progress["batchId"] > last:
                last = progress["batchId"]
                if recorded := understood(progress):
                    control.record(last, recorded)
                    seen(recorded)
                    batches += 1
                if settings.trigger == "real-time" and (failure := _unreadable(settings, partitions(progress))):
                    query.stop()
                    control.tend()
                    # An executor that is gone for a while comes back; too few from the beginning do not.
                    return (failure if batches < 2 else failure.removeprefix(REFUSED)), 0
        asked = control.tend()
        connectors.look()
        if ended is not None:
            return (ended or None), batches
        if (stop.asked.is_set() or asked) and not told:
            told = True
            say(f"Job {settings.job} finishes its batch and stops; once more to end it at once.")
        if told and not requested:
            requested = control.request_stop()
        if told and (stop.at_once or _is_idle(query, settings)):
            query.stop()


def _unreadable(settings: Settings, partitions: int) -> str | None:
    """What Spark does not say, and so would go on."""
    if not partitions:
        # It would begin one empty batch after the other, as fast as it can.
        return f"{NOTHING_THERE} {settings.topics} yet."
    # Whichever it begins last would wait for the end of the batch, each time.
    if partitions > (slots := task_slots()):
        return (
            f"{REFUSED}Job {settings.job} reads {partitions} partitions in real time, each in a task of its own, but "
            f"Spark has slots for {slots}: some would never be read. Give it more cores, fewer --topics, or "
            "--trigger micro-batch; it goes on from its last commit."
        )
    return None


def _is_idle(query: StreamingQuery, settings: Settings) -> bool:
    """Between micro-batches, when nothing comes in, no batch will begin that could refuse to."""
    return settings.trigger == "micro-batch" and not query.status["isTriggerActive"]


def _has_ended(query: StreamingQuery) -> str | None:
    """Null while it runs, else why it failed, or nothing if it did not."""
    time.sleep(LOOK)
    return None if query.isActive else _causes(query)


def _causes(query: StreamingQuery) -> str:
    """Spark's words and those of what made it fail, the innermost first."""
    found = query._jsq.exception()
    return messages(found.get()) if found.isDefined() else ""


def _halted(failure: str) -> str:
    where = json.JSONDecoder().raw_decode(failure, failure.index(HALT) + len(HALT))[0]
    named = f" by {where['ref']!r}" if "ref" in where else ""
    return (
        f"Halted at topic {where['topic']}, partition {where['partition']}, offset {where['offset']}: "
        f"state {where['state']} knows no version of it{named}. "
        "Register it and start the job again; it goes on from its last commit."
    )
