"""The warehouse: records of entities in, one table for each entity out, the same after any replay.

metl warehouse                                  runs until stopped
metl warehouse --available-now                  ends when all that was there is merged
metl warehouse --available-now --parquet DIR    and writes the tables as Parquet, too
"""

import uuid
from functools import partial

import click
import psycopg
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from metl.errors import BadInput, MetlError
from metl.util.terminal import plural
from metl_spark.runtime import kafka, options
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import explained
from metl_spark.runtime.session import session
from metl_spark.runtime.supervise import supervise
from metl_spark.warehouse import records
from metl_spark.warehouse.merge import Merged, merge_into
from metl_spark.warehouse.parquet import write_parquet
from metl_spark.warehouse.progress import from_spark
from metl_spark.warehouse.settings import WarehouseSettings


def start(
    spark: SparkSession, control: Control, settings: WarehouseSettings, instance: str, merged: Merged
) -> StreamingQuery:
    return (
        records.read(kafka.read(spark, settings), settings.prefix)
        .writeStream.foreachBatch(merge_into(spark, control, settings, instance, merged))
        .option("checkpointLocation", settings.checkpoint)
        .queryName(settings.job)
        .trigger(**settings.trigger_arguments)
        .start()
    )


@options.command
@options.job("warehouse")
@options.checkpoint("metl warehouse")
@click.option("--available-now", is_flag=True, help="End when all that is there now is merged.")
@click.option(
    "--parquet",
    metavar="DIR",
    help="Then write the rows of each entity to DIR/<entity> as Parquet, in place of what was there.",
)
@click.option(
    "--duration", type=float, default=5.0, show_default=True, help="Seconds from the beginning of a batch to the next."
)
@click.option("--batch", type=click.IntRange(1), default=250_000, show_default=True, help="Records in a batch at most.")
@options.prefix("are in")
@click.option("--entities", default=".*", show_default=True, help="Which of them: a regular expression of whole names.")
@options.kafka("metl warehouse")
def main(
    job: str, checkpoint: str, available_now: bool, parquet: str | None, duration: float, batch: int, prefix: str,
    entities: str, brokers: str, kafka_options: dict[str, str],
) -> None:  # fmt: skip
    """Keep the entities of the canonical data model as tables of schema warehouse, one row for each key of each source.

    The database is that of METL_JOB_DSN (a member of metl_job) or METL_DSN. Of two records about a row the one with
    the higher offset counts, so that duplicates and replays change nothing. Records with a value that does not fit its
    column are in warehouse._rejected.
    """
    settings = WarehouseSettings(
        job=job, checkpoint=checkpoint, trigger="available-now" if available_now else "micro-batch", duration=duration,
        batch=batch, prefix=prefix, entities=entities, brokers=brokers, kafka_options=kafka_options,
    )  # fmt: skip
    if parquet and not available_now:
        raise BadInput(
            "--parquet is written when all is merged. Give --available-now, too, and run it as often as needed."
        )
    kafka.require(settings)
    instance = str(uuid.uuid4())
    merged: Merged = {}
    with Control.open(settings, instance, needs_marts=False) as control, session(settings, bulk=True) as spark:
        if warning := kafka.unmatched(spark, settings):
            click.echo(warning)
        supervise(
            lambda: start(spark, control, settings, instance, merged),
            control,
            settings,
            partial(from_spark, merged=merged),
            click.echo,
        )
        if parquet:
            try:
                with explained(), control.new_connection() as connection:
                    for folder, rows in write_parquet(spark, connection, control.jdbc, entities, parquet):
                        click.echo(f"{folder} has {plural(rows, 'row')}.")
            except (MetlError, psycopg.Error) as error:
                reason = " ".join(str(error).split())
                raise MetlError(f"Not all of {parquet} was written: {reason} The tables are merged.") from None
