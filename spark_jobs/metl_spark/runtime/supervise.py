"""Keeps a query running: restarts it after failures, and stops it where nothing is lost."""

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
from metl_spark.runtime.connectors import Connectors
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import HALT, first_line, marked, messages
from metl_spark.runtime.progress import partitions
from metl_spark.runtime.session import task_slots
from metl_spark.runtime.settings import JobSettings

#: Seconds before the first retry, the second, and so on.
RETRY_DELAYS = (1, 2, 4, 8, 15, 30)
POLL_INTERVAL = 0.5
# The ends of metl.begin_batch's errors, after the name of the job. With the quote, since Spark's errors also hold the
# text of queries, comments included.
STOPPED = "' was told to stop."
SUPERSEDED = "' was superseded."
DATABASE_UNREACHABLE = "FAILED_JDBC.CONNECTION"
NO_TOPIC = "No topic matches"
REFUSED_OPTION = re.compile(r"Invalid value .* for configuration .*")
# What a retry does not mend, and the way out. Retried a few times all the same: a broker that is starting may report
# such an error by mistake.
TRIES = 3
PERMANENT_FAILURES = {
    "Some data may have been lost": "Messages that it has not read yet are gone from Kafka: their topic was deleted or "
    "they became too old. To go on with what is left: metl jobs reset JOB --to earliest, or a new --checkpoint. If "
    "the topic was made anew, its offsets begin again and tables would take its messages for old ones. So before that, "
    "let metl warehouse merge what was sent, and then: select metl.forget_positions('TOPIC')",
    "RecordTooLargeException": "A record is larger than its topic takes. Raise max.message.bytes of that topic, and "
    "max.request.size with --kafka-option beyond 32 MB, and start it again",
    "SaslAuthenticationException": "Kafka rejects its credentials. Mend the file of --kafka-config",
    "SslAuthenticationException": "TLS between it and Kafka fails. Mend the file of --kafka-config",
    "AuthorizationException": "Kafka does not let it read or write there. Give it the rights",
    "stopped SparkContext": "Spark has stopped. Start it again; it goes on from its last commit",
}

ReadProgress = Callable[[StreamingQueryProgress], dict[str, Any] | None]
OnBatch = Callable[[dict[str, Any]], None]


class StopSignal:
    """Set by the first signal; the second one does not wait for the batch."""

    def __init__(self) -> None:
        self.received = threading.Event()
        self.at_once = False
        #: For a job that is not done: as of any program that a signal ends.
        self.exit_code = MetlError.exit_code

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.at_once = self.received.is_set()
        self.received.set()
        self.exit_code = 128 + number


class Unfinished(MetlError):
    """Stopped before all that was there was done."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def supervise(
    start: Callable[[], StreamingQuery],
    control: Control,
    settings: JobSettings,
    read_progress: ReadProgress,
    say: Callable[[str], None],
    on_batch: OnBatch = lambda _progress: None,
) -> None:
    """Returns when the job was requested to stop, or, with trigger available-now, when all is done; an error if it was
    requested to stop before. `read_progress` reads Spark's reports; `on_batch` gets what it returns."""
    stop = StopSignal()
    count, lag = 0, None

    def add_up(batch: dict[str, Any]) -> None:
        nonlocal count, lag
        count, lag = count + batch["rows_in"], batch.get("lag")
        on_batch(batch)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    failures = 0
    while True:
        try:
            query = start()
            say(f"Job {settings.job} {settings.verb} {settings.topics} from {settings.checkpoint}.")
            control.report("running")
            failure, batches = _watch(query, control, settings, stop, read_progress, say, add_up)
        except (AnalysisException, IllegalArgumentException) as error:
            # A database that is unreachable at this moment is no reason to give up.
            if failures == 0 and DATABASE_UNREACHABLE not in str(error):
                control.report("failed", first_line(str(error)))
                raise BadInput(f"Spark cannot start this: {first_line(str(error))}") from None
            failure, batches = str(error), 0
        except StreamingQueryException as error:
            failure, batches = str(error), 0
        except Py4JJavaError as error:
            # As of the JDBC driver, which Spark asks for the matrix's columns before it starts.
            failure, batches = messages(error.java_exception), 0
        except (Py4JError, ConnectionError):
            control.report("failed", "Spark's JVM ended.")
            raise MetlError(
                f"Job {settings.job} failed because Spark's JVM ended, killed or out of memory. "
                "Start it again; it goes on from its last commit."
            ) from None
        if stop.at_once or (stop.received.is_set() and failure and STOPPED not in failure):
            _end_in_mid_batch(control, settings, stop)
        if failure is None or STOPPED in failure:
            is_unfinished = failure is not None and settings.trigger == "available-now"
            control.report("stopped", "It was told to before it was done." if is_unfinished else None)
            if is_unfinished:
                rest = "" if lag is None else f", {lag:,} wait"
                raise Unfinished(
                    f"Job {settings.job} was told to stop before it was done: {count:,} messages are committed{rest}. "
                    "The same command goes on from there.",
                    stop.exit_code,
                )
            say(f"Job {settings.job} has stopped; what it sent is committed.")
            return
        if sentence := marked(failure, HALT):
            control.report("halted", sentence)
            raise MetlError(sentence)
        if SUPERSEDED in failure:
            raise MetlError(f"Another instance of job {settings.job} has taken over. This one ends.")
        if not failures and not batches and (refused := REFUSED_OPTION.search(failure)):
            control.report("failed", refused[0])
            raise BadInput(f"Kafka's client does not take this option: {refused[0]}")
        failures = 1 if batches else failures + 1
        if failures >= TRIES and (way_out := _way_out(failure)):
            control.report("failed", way_out)
            raise MetlError(f"Job {settings.job} failed {failures} times in a row. {way_out}.")
        delay = RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1]
        reason = first_line(failure)
        control.report("retrying", reason)
        # That no topic exists yet was reported at the start.
        if NO_TOPIC not in failure:
            say(f"Job {settings.job} failed and starts again in {delay} s: {reason}")
        if not _is_stopped_within(delay, control, stop):
            continue
        if NO_TOPIC not in failure:
            _end_in_mid_batch(control, settings, stop)
        control.report("stopped")
        say(f"Job {settings.job} has stopped; there was nothing to read.")
        return


def _way_out(failure: str) -> str | None:
    return next((way_out for text, way_out in PERMANENT_FAILURES.items() if text in failure), None)


def _end_in_mid_batch(control: Control, settings: JobSettings, stop: StopSignal) -> NoReturn:
    control.report("stopped", "It did not finish its batch.")
    sentence = f"Job {settings.job} has stopped in mid-batch; what it sent since its last commit is sent again."
    raise Unfinished(sentence, stop.exit_code if settings.trigger == "available-now" else MetlError.exit_code)


def _is_stopped_within(seconds: float, control: Control, stop: StopSignal) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if control.heartbeat() or stop.received.wait(POLL_INTERVAL):
            return True
    return False


def _watch(
    query: StreamingQuery,
    control: Control,
    settings: JobSettings,
    stop: StopSignal,
    read_progress: ReadProgress,
    say: Callable[[str], None],
    on_batch: OnBatch,
) -> tuple[str | None, int]:
    """Until the query ends; why it failed, and how many batches it did."""
    connectors = Connectors(control, settings, say)
    last = -1
    batches = 0
    is_stopping = is_requested = False
    while True:
        ended = _failure_of(query)
        for progress in query.recentProgress:
            if progress["batchId"] > last:
                last = progress["batchId"]
                if batch := read_progress(progress):
                    control.record(last, batch)
                    on_batch(batch)
                    batches += 1
                if settings.trigger == "real-time" and (failure := _unreadable(settings, partitions(progress))):
                    query.stop()
                    control.heartbeat()
                    # A lost executor comes back, so later on this is retried; too few from the beginning are not.
                    return (failure if batches < 2 else failure.replace(HALT, "")), 0
        is_stopped_by_database = control.heartbeat()
        connectors.check()
        if ended is not None:
            return (ended or None), batches
        if (stop.received.is_set() or is_stopped_by_database) and not is_stopping:
            is_stopping = True
            say(f"Job {settings.job} finishes its batch and stops; once more to end it at once.")
        if is_stopping and not is_requested:
            is_requested = control.request_stop()
        if is_stopping and (stop.at_once or _is_idle(query, settings)):
            query.stop()


def _unreadable(settings: JobSettings, partitions: int) -> str | None:
    """What Spark does not report, and would go on with."""
    if not partitions:
        # It would begin one empty batch after the other, as fast as it can.
        return f"{NO_TOPIC} {settings.topics} yet."
    # Each time, the task that starts last would wait for the end of the batch.
    if partitions > (slots := task_slots()):
        return (
            f"{HALT}Job {settings.job} reads {partitions} partitions in real time, each in a task of its own, but "
            f"Spark has slots for {slots}: some would never be read. Give it more cores, fewer --topics, or "
            f"--trigger micro-batch; it goes on from its last commit.{HALT}"
        )
    return None


def _is_idle(query: StreamingQuery, settings: JobSettings) -> bool:
    """Between micro-batches without input, no batch begins that could refuse to."""
    return settings.trigger == "micro-batch" and not query.status["isTriggerActive"]


def _failure_of(query: StreamingQuery) -> str | None:
    """Null while it runs, else why it failed; empty if it did not."""
    time.sleep(POLL_INTERVAL)
    if query.isActive:
        return None
    error = query._jsq.exception()
    return messages(error.get()) if error.isDefined() else ""
