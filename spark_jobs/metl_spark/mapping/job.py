"""The live mapper: messages of many topics in, records of entities out, each batch under one known state.

spark-submit --jars … spark_jobs/map_stream.py --topics 'shop\\..*' --checkpoint s3a://…   on a cluster
metl map --topics 'shop\\..*'                                                             on this machine
"""

import uuid

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from metl.streams.client_options import read_kafka_options
from metl_spark.mapping import matrix
from metl_spark.mapping.count import count
from metl_spark.mapping.frame import frame
from metl_spark.mapping.identify import identify
from metl_spark.mapping.look_up import look_up
from metl_spark.mapping.map_values import map_values
from metl_spark.mapping.restore import restore
from metl_spark.mapping.route import route
from metl_spark.runtime import kafka
from metl_spark.runtime.control import Control
from metl_spark.runtime.session import session
from metl_spark.runtime.settings import TRIGGERS, Settings
from metl_spark.runtime.supervise import supervise
from metl_spark.runtime.warm_up import warm_up


def records(spark: SparkSession, settings: Settings, jdbc: dict[str, str], instance: str) -> DataFrame:
    """The whole mapping, from topics to topics."""
    known = matrix.prepare(matrix.read(spark, jdbc, settings.job, instance), settings.prefix)
    routed = mapped(kafka.read(spark, settings), known, settings)
    return count(routed, with_latency=settings.trigger != "available-now")


def mapped(messages: DataFrame, known: DataFrame, settings: Settings) -> DataFrame:
    """What is to become of each message, by what is known of the matrix."""
    restored = restore(messages, settings.replays, kafka.wanted(settings))
    identified = identify(restored, known)
    found = look_up(identified, known, halt_on_unknown_version=settings.unknown_version == "halt")
    return route(map_values(frame(found, settings.job)), settings.dead_letters)


def query(spark: SparkSession, settings: Settings, jdbc: dict[str, str], instance: str) -> DataStreamWriter:
    return kafka.write(records(spark, settings, jdbc, instance), settings)


def start(spark: SparkSession, settings: Settings, jdbc: dict[str, str], instance: str) -> StreamingQuery:
    return query(spark, settings, jdbc, instance).queryName(settings.job).start()


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--topics", required=True, help="Which topics to map: a regular expression that matches whole names.")
@click.option("--job", default="map", show_default=True, help="The name under which `metl jobs` shows it.")
@click.option(
    "--checkpoint",
    required=True,
    help="Folder where it keeps how far it is, one for each job. Metl map has one by itself.",
)
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
@click.option(
    "--unknown-version",
    type=click.Choice(["dead-letter", "halt"]),
    default="dead-letter",
    show_default=True,
    help="What to do with a message whose version the matrix does not know.",
)
@click.option(
    "--prefix", default="cdm.", show_default=True, help="Entities go to topics of this prefix and their name."
)
@click.option("--dead-letters", default="metl.dead", show_default=True, help="The topic of what cannot be mapped.")
@click.option(
    "--replays",
    default="metl.replay",
    show_default=True,
    help="The topic to which `metl dead replay` sends them again, if there is one.",
)
@click.option(
    "--kafka",
    "brokers",
    envvar="METL_KAFKA",
    required=True,
    help="host:port of Kafka [env: METL_KAFKA]. Metl map knows that of `metl up`.",
)
@click.option(
    "--kafka-config",
    envvar="METL_KAFKA_CONFIG",
    type=click.Path(dir_okay=False),
    help="File of Kafka client properties (TLS, SASL), for reading and writing [env: METL_KAFKA_CONFIG].",
)
@click.option(
    "--kafka-option", "options", multiple=True, metavar="NAME=VALUE", help="One such property, if not secret."
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve Spark's metrics for Prometheus at http://127.0.0.1:PORT/metrics/prometheus.",
)
def main(
    topics: str, job: str, checkpoint: str, trigger: str, duration: float, starting: str, unknown_version: str,
    prefix: str, dead_letters: str, replays: str, brokers: str, kafka_config: str | None, options: tuple[str, ...],
    metrics_port: int | None,
) -> None:  # fmt: skip
    """Map the messages of topics to the entities of the canonical data model, until told to stop.

    The matrix comes from METL_JOB_DSN (a member of metl_job) or METL_DSN. The first Ctrl-C or SIGTERM lets the
    current batch finish and commit, so that nothing is sent twice; a second one ends it at once.
    """
    settings = Settings(
        topics=topics, job=job, checkpoint=checkpoint, trigger=trigger, duration=duration, starting=starting,
        unknown_version=unknown_version, prefix=prefix, dead_letters=dead_letters, replays=replays,
        brokers=brokers, kafka_options=read_kafka_options(kafka_config, options), metrics_port=metrics_port,
    )  # fmt: skip
    kafka.require(settings)
    instance = str(uuid.uuid4())
    with (
        Control.open(settings, instance) as control,
        session(settings) as spark,
        warm_up(lambda idle: query(spark, idle, control.jdbc, instance).start(), settings),
    ):
        if nothing := kafka.unmatched(spark, settings):
            click.echo(f"{nothing} Job {job} waits for one.")
        supervise(lambda: start(spark, settings, control.jdbc, instance), control, settings, say=click.echo)
