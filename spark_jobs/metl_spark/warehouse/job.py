"""The warehouse: records of entities in, tables out, one for each entity, exactly the same after any replay.

metl warehouse                                  goes on until told to stop
metl warehouse --available-now                  ends when all that was there is merged
metl warehouse --available-now --parquet DIR    and writes the tables as Parquet, too
"""

import re
import uuid
from functools import partial

import click
import psycopg
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from metl.errors import BadInput, MetlError
from metl.streams.client_options import read_kafka_options
from metl.util.terminal import counted
from metl_spark.runtime import kafka
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import in_a_sentence
from metl_spark.runtime.session import session
from metl_spark.runtime.settings import Settings
from metl_spark.runtime.supervise import supervise
from metl_spark.warehouse import records
from metl_spark.warehouse.merge import Merged, merging
from metl_spark.warehouse.parquet import write_parquet
from metl_spark.warehouse.progress import from_spark


def start(spark: SparkSession, control: Control, settings: Settings, instance: str, merged: Merged) -> StreamingQuery:
    writer = (
        records.read(kafka.read(spark, settings), settings.prefix)
        .writeStream.foreachBatch(merging(spark, control, settings, instance, merged))
        .option("checkpointLocation", settings.checkpoint)
        .queryName(settings.job)
    )
    if settings.trigger == "available-now":
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{settings.duration} seconds").start()


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--job", default="warehouse", show_default=True, help="The name under which `metl jobs` shows it.")
@click.option(
    "--checkpoint",
    required=True,
    help="Folder where it keeps how far it is, one for each job. Metl warehouse has one by itself.",
)
@click.option("--available-now", is_flag=True, help="End when all that is there now is merged.")
@click.option(
    "--parquet",
    metavar="DIR",
    help="Then write the rows of each entity to DIR/<entity> as Parquet, in place of what was there.",
)
@click.option(
    "--duration", type=float, default=5.0, show_default=True, help="Seconds from the beginning of a batch to the next."
)
@click.option(
    "--batch", type=click.IntRange(1), default=250_000, show_default=True, help="At most so many records in a batch."
)
@click.option(
    "--prefix", default="cdm.", show_default=True, help="Entities are in topics of this prefix and their name."
)
@click.option("--entities", default=".*", show_default=True, help="Which of them: a regular expression of whole names.")
@click.option(
    "--kafka",
    "brokers",
    envvar="METL_KAFKA",
    required=True,
    help="host:port of Kafka [env: METL_KAFKA]. Metl warehouse knows that of `metl up`.",
)
@click.option(
    "--kafka-config",
    envvar="METL_KAFKA_CONFIG",
    type=click.Path(dir_okay=False),
    help="File of Kafka client properties (TLS, SASL) [env: METL_KAFKA_CONFIG].",
)
@click.option(
    "--kafka-option", "options", multiple=True, metavar="NAME=VALUE", help="One such property, if not secret."
)
def main(
    job: str, checkpoint: str, available_now: bool, parquet: str | None, duration: float, batch: int, prefix: str,
    entities: str, brokers: str, kafka_config: str | None, options: tuple[str, ...],
) -> None:  # fmt: skip
    """Keep the entities of the canonical data model as tables of schema warehouse, one row for each key of each source.

    The database is that of METL_JOB_DSN (a member of metl_job) or METL_DSN. Of two records about a row the one with
    the higher offset counts, so that duplicates and replays change nothing. Records with a value that does not fit its
    column are in warehouse._rejected.
    """
    settings = Settings(
        topics=f"{re.escape(prefix)}(?:{entities})", job=job, checkpoint=checkpoint, brokers=brokers, prefix=prefix,
        trigger="available-now" if available_now else "micro-batch", duration=duration, reads_entities=True,
        replays=None, option="--entities", given=entities,
        kafka_options=read_kafka_options(kafka_config, options),
        reading={"maxOffsetsPerTrigger": str(batch)},
    )  # fmt: skip
    if parquet and not available_now:
        raise BadInput(
            "--parquet is written when all is merged. Give --available-now, too, and run it as often as needed."
        )
    kafka.require(settings)
    instance = str(uuid.uuid4())
    merged: Merged = {}
    with Control.open(settings, instance, needs_marts=False) as control, session(settings, bulk=True) as spark:
        if nothing := kafka.unmatched(spark, settings):
            click.echo(nothing)
        supervise(
            lambda: start(spark, control, settings, instance, merged),
            control,
            settings,
            say=click.echo,
            understood=partial(from_spark, merged=merged),
        )
        if parquet:
            try:
                with in_a_sentence(), control.another_line() as line:
                    for folder, rows in write_parquet(spark, line, control.jdbc, entities, parquet):
                        click.echo(f"{folder} has {counted(rows, 'row')}.")
            except (MetlError, psycopg.Error) as error:
                said = " ".join(str(error).split())
                raise MetlError(f"Not all of {parquet} was written: {said} The tables are merged.") from None
