"""The Spark session of a job: the one of spark-submit, or else one on this machine."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from metl import config
from metl.errors import BadInput
from metl.jvm import jars
from metl.jvm.spark import local_session
from metl_spark.functions.columns import FUNCTIONS
from metl_spark.functions.jar import FUNCTIONS_JAR
from metl_spark.runtime.settings import JobSettings, is_submitted

# Threads, not cores: in real time each partition keeps one to itself.
LOCAL_SLOTS = 1000
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

SQL = {
    # Of two equal names the last counts, as everywhere: in headers, and in an inline schema.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
    # Both joins with the matrix must read the same columns of it, or it would be read twice, under two states.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.optimizer.expression.nestedPruning.enabled": "false",
    # Each batch is planned anew, while messages wait, so planning is kept short. Spark would generate one method for
    # the whole query, find it too large for the JVM to compile, and generate it again in parts; and it would run six
    # passes of its optimizer, of which the third and later ones change nothing that matters.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.optimizer.maxIterations": "2",
    # The checkpoint holds only offsets, a small file for each batch: checksum files make batch boundaries longer.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
# A backlog has few batches and many rows: one method for the whole query spares copying rows from step to step. It is
# larger than what the JVM compiles by default. For the garbage collector, throughput matters and pauses do not.
BULK_SQL = {**SQL, "spark.sql.codegen.wholeStage": "true"}
BULK_JVM = {
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods -XX:+UseParallelGC",
    "spark.driver.memory": "2g",
}
# Hadoop's default for local files starts a process for each rename and each change of permissions.
LOCAL_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}


def metrics(port: int | None) -> dict[str, str]:
    """Spark's own metrics, with those of the query, for Prometheus at /metrics/prometheus of its web server."""
    if port is None:
        return {}
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        # Nobody would look at another port.
        "spark.port.maxRetries": "0",
        "spark.sql.streaming.metricsEnabled": "true",
        "spark.metrics.namespace": "metl",
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
    }


@contextlib.contextmanager
def _signals_ignored() -> Iterator[None]:
    """The JVM that is started in here inherits ignored signals. A terminal or a service manager sends them to all
    processes of a job, but this one has to let a batch finish before it ends the JVM."""
    # Blocked signals are delivered later, although they are ignored meanwhile.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


@contextlib.contextmanager
def _stderr_discarded() -> Iterator[None]:
    """The JVM that is started in here prints warnings, which nobody needs unless Spark's log is wanted."""
    if config.spark_log_level():
        yield
        return
    terminal = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(null)


def jvm_with_functions(spark: SparkSession) -> Any:
    """The JVM, able to load METL's classes from this thread: class loaders belong to threads."""
    session: Any = spark._jsparkSession
    jvm: Any = spark._jvm
    jvm.java.lang.Thread.currentThread().setContextClassLoader(session.sharedState().jarClassLoader())
    return jvm


def register_functions(spark: SparkSession) -> None:
    """Those of metl_spark.functions, here and in every executor."""
    session: Any = spark._jsparkSession
    session.sessionState().resourceLoader().addJar(FUNCTIONS_JAR.build().as_uri())
    jvm_with_functions(spark)
    for name, (class_name, returns) in FUNCTIONS.items():
        spark.udf.registerJavaFunction(name, class_name, returns)


def task_slots() -> int:
    """How many tasks the current session can run at once."""
    context = SparkSession.builder.getOrCreate().sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


@contextlib.contextmanager
def session(settings: JobSettings, *, bulk: bool = False, metrics_port: int | None = None) -> Iterator[SparkSession]:
    """Tuned for latency, or with `bulk` for throughput."""
    if is_submitted():
        if metrics_port is not None:
            raise BadInput("--metrics-port is for metl map. Under spark-submit set Spark's own settings with --conf.")
        spark = SparkSession.builder.appName(f"metl {settings.job}").getOrCreate()
    else:
        asyncio.run(jars.fetch("spark", lambda _text: None))
        try:
            with _signals_ignored(), _stderr_discarded():
                spark = local_session(
                    f"metl {settings.job}",
                    cores=(os.cpu_count() or 1) if bulk else LOCAL_SLOTS,
                    settings=metrics(metrics_port) | (BULK_JVM if bulk else {}),
                )
        except Py4JJavaError as error:
            if "BindException" not in str(error.java_exception):
                raise
            raise BadInput(f"--metrics-port {metrics_port} is taken. Take another one.") from None
        # Py4j logs every call that fails with a traceback; METL reports it in a sentence.
        logging.disable()
        # Spark logs each failure, also a requested stop, in hundreds of lines; METL does in one.
        spark.sparkContext.setLogLevel(config.spark_log_level() or "OFF")
    for name, value in {
        **(BULK_SQL if bulk else SQL),
        **(LOCAL_CHECKPOINT if settings.local_checkpoint else {}),
    }.items():
        spark.conf.set(name, value)
    register_functions(spark)
    try:
        yield spark
    finally:
        # The JVM may have ended already.
        with contextlib.suppress(Py4JError, ConnectionError):
            spark.stop()
