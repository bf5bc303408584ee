"""The live mapper: messages of many topics in, records of entities out, each batch under one state.

spark-submit --jars … spark_jobs/map_stream.py --topics 'shop\\..*' --checkpoint s3a://…   on a cluster
metl map --topics 'shop\\..*'                                                             on this machine
"""

import uuid

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from metl_spark.mapping import matrix
from metl_spark.mapping.count import count
from metl_spark.mapping.frame import frame
from metl_spark.mapping.identify import identify
from metl_spark.mapping.look_up import look_up
from metl_spark.mapping.map_values import map_values
from metl_spark.mapping.progress import from_spark
from metl_spark.mapping.restore import restore
from metl_spark.mapping.route import route
from metl_spark.mapping.settings import MapSettings, RecordSettings
from metl_spark.mapping.warm_up import warm_up
from metl_spark.runtime import kafka, options
from metl_spark.runtime.control import Control
from metl_spark.runtime.session import session
from metl_spark.runtime.settings import TRIGGERS
from metl_spark.runtime.supervise import supervise


def map_messages(messages: DataFrame, entries: DataFrame, settings: RecordSettings, *, halt: bool = False) -> DataFrame:
    """The whole mapping, from messages to routed records. `messages` are kafka.COLUMNS and replays; with `halt`, the
    query fails at a message of an unknown version."""
    resolved = look_up(identify(messages, entries), entries, halt_on_unknown_version=halt)
    return route(map_values(frame(resolved, settings.job)), settings.dead_letters)


def query(spark: SparkSession, settings: MapSettings, jdbc: dict[str, str], instance: str) -> DataStreamWriter:
    rows = matrix.read(spark, jdbc, settings.job, instance)
    routed = map_messages(
        restore(kafka.read(spark, settings), settings.replays, settings.pattern),
        matrix.observed_entries(rows, settings.prefix),
        settings,
        halt=settings.unknown_version == "halt",
    )
    return kafka.write(count(routed, with_latency=settings.trigger != "available-now"), settings)


def start(spark: SparkSession, settings: MapSettings, jdbc: dict[str, str], instance: str) -> StreamingQuery:
    return query(spark, settings, jdbc, instance).queryName(settings.job).start()


@options.command
@options.topics
@options.job("map")
@options.checkpoint("metl map")
@click.option(
    "--trigger",
    type=click.Choice(TRIGGERS),
    default="real-time",
    show_default=True,
    help="Map messages as they come, or in batches; available-now ends when all that was there is mapped.",
)
@click.option(
    "--duration",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds between two commits in real time: new states are taken up there.",
)
@click.option(
    "--from",
    "starting",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where to begin without a checkpoint.",
)
@options.unknown_version
@options.prefix("go to")
@options.dead_letters
@click.option(
    "--replays",
    default="metl.replay",
    show_default=True,
    help="Also subscribe to this topic, to which `metl dead-letters replay` sends dead letters. It need not exist.",
)
@options.kafka("metl map")
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve Spark's metrics for Prometheus at http://127.0.0.1:PORT/metrics/prometheus.",
)
def main(
    topics: str, job: str, checkpoint: str, trigger: str, duration: float, starting: str, unknown_version: str,
    prefix: str, dead_letters: str, replays: str, brokers: str, kafka_options: dict[str, str],
    metrics_port: int | None,
) -> None:  # fmt: skip
    """Map the messages of topics to the entities of the canonical data model, until stopped.

    The matrix comes from METL_JOB_DSN (a member of metl_job) or METL_DSN. The first Ctrl-C or SIGTERM lets the
    current batch finish and commit, so that nothing is sent twice; a second one ends it at once.
    """
    settings = MapSettings(
        topics=topics, job=job, checkpoint=checkpoint, trigger=trigger, duration=duration, starting=starting,
        unknown_version=unknown_version, prefix=prefix, dead_letters=dead_letters, replays=replays,
        brokers=brokers, kafka_options=kafka_options,
    )  # fmt: skip
    kafka.require(settings)
    instance = str(uuid.uuid4())
    with (
        Control.open(settings, instance) as control,
        session(settings, metrics_port=metrics_port) as spark,
        warm_up(lambda idle: query(spark, idle, control.jdbc, instance).start(), settings),
    ):
        if warning := kafka.unmatched(spark, settings):
            click.echo(f"{warning} Job {job} waits for one.")
        supervise(lambda: start(spark, settings, control.jdbc, instance), control, settings, from_spark, click.echo)
