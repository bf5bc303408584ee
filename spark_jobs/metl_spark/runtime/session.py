"""The Spark session that a mapper runs in: the one of spark-submit, or else one on this machine."""

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
from metl_spark.runtime.settings import Settings, is_submitted

# Threads, not cores: in real time each partition keeps one to itself.
LOCAL_SLOTS = 1000
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

SQL = {
    # The last of two equal names counts, as everywhere: of headers, and in an inline schema.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
    # Both looks into the matrix must read the same columns of it, or it would be read twice, under two states.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.optimizer.expression.nestedPruning.enabled": "false",
    # Each batch is planned anew, while messages wait. So less is planned: Spark would write one method for the whole
    # query, find it too large for the JVM to compile, and write it again in parts; and it would go over the plan
    # six times, though the second time already changes nothing that matters.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.optimizer.maxIterations": "2",
    # A mapper keeps no state but offsets, a small file each batch: a checksum file beside it only makes gaps longer.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
# A backlog is planned seldom and read long: one method for all that happens to a row spares copying it from step to
# step. It is larger than what the JVM compiles by itself. Pauses of its collector do not matter, what it takes does.
BULK_SQL = {**SQL, "spark.sql.codegen.wholeStage": "true"}
BULK_JVM = {
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods -XX:+UseParallelGC",
    "spark.driver.memory": "2g",
}
# Hadoop's default for local files starts a process for each rename and each permission.
LOCAL_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}


def metrics(port: int | None) -> dict[str, str]:
    """Spark's own, for Prometheus at /metrics/prometheus of its web server; those of the query are among them."""
    if port is None:
        return {}
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        # Another port would be found by nobody.
        "spark.port.maxRetries": "0",
        "spark.sql.streaming.metricsEnabled": "true",
        "spark.metrics.namespace": "metl",
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
    }


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Spark's JVM, started in here, never hears the signals that a terminal or a service manager sends to all
    processes of a job: it is this process that lets a batch finish and then ends the JVM."""
    # Ones that come meanwhile wait: blocked, they are not lost though they are ignored.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """Spark's JVM, started in here, greets nobody with its warnings, unless its log is asked for."""
    if config.spark_log_level():
        yield
        return
    terminal = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nowhere)


def see_functions(spark: SparkSession) -> Any:
    """Spark's JVM, for this thread: it looks for classes where the thread that asks does."""
    inside: Any = spark._jsparkSession
    jvm: Any = spark._jvm
    jvm.java.lang.Thread.currentThread().setContextClassLoader(inside.sharedState().jarClassLoader())
    return jvm


def register(spark: SparkSession) -> None:
    """Makes the functions of metl_spark.functions known, here and to every executor."""
    inside: Any = spark._jsparkSession
    inside.sessionState().resourceLoader().addJar(FUNCTIONS_JAR.build().as_uri())
    see_functions(spark)
    for name, (class_name, returns) in FUNCTIONS.items():
        spark.udf.registerJavaFunction(name, class_name, returns)


def task_slots() -> int:
    """How many tasks the current session can run at once."""
    context = SparkSession.builder.getOrCreate().sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


@contextlib.contextmanager
def session(settings: Settings, *, bulk: bool = False) -> Iterator[SparkSession]:
    """For messages as they come, or else for a backlog of them."""
    if is_submitted():
        if settings.metrics_port is not None:
            raise BadInput("--metrics-port is for metl map. Under spark-submit set Spark's own settings with --conf.")
        spark = SparkSession.builder.appName(f"metl {settings.job}").getOrCreate()
    else:
        asyncio.run(jars.fetch("spark", lambda _text: None))
        try:
            with _unheard(), _unseen():
                spark = local_session(
                    f"metl {settings.job}",
                    cores=(os.cpu_count() or 1) if bulk else LOCAL_SLOTS,
                    settings=metrics(settings.metrics_port) | (BULK_JVM if bulk else {}),
                )
        except Py4JJavaError as error:
            if "BindException" not in str(error.java_exception):
                raise
            raise BadInput(f"--metrics-port {settings.metrics_port} is taken. Take another one.") from None
        # The client of its JVM tells every call that fails, with a traceback; mapper.supervise does it in a sentence.
        logging.disable()
        # Spark tells each failure with hundreds of lines, also that of being told to stop. Ours says it in one.
        spark.sparkContext.setLogLevel(config.spark_log_level() or "OFF")
    for name, value in {
        **(BULK_SQL if bulk else SQL),
        **(LOCAL_CHECKPOINT if settings.local_checkpoint else {}),
    }.items():
        spark.conf.set(name, value)
    register(spark)
    try:
        yield spark
    finally:
        # Its JVM may be gone already.
        with contextlib.suppress(Py4JError, ConnectionError):
            spark.stop()
