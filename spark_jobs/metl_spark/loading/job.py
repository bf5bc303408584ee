"""The bulk mapper: maps what is in topics now, as fast as the machine allows, and ends.

It is the mapping of map_stream, set up for a backlog. Batches are large but not endless, so that there is progress to
see and a kill loses little; the next start continues after the last one.

spark-submit --jars … spark_jobs/load_stream.py --topics 'shop\\..*' --checkpoint s3a://…   on a cluster
metl load --topics 'shop\\..*'                                                             on this machine
"""

import uuid
from dataclasses import asdict, replace
from functools import partial

import click
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from metl import config
from metl.db.connection import snapshot
from metl.errors import BadInput
from metl.streams.operations import operation
from metl.util.prompts import confirm
from metl.util.terminal import plural
from metl_spark.loading.bar import Bar
from metl_spark.loading.limits import before_end, counts, earlier, require_readable, resolve_limits
from metl_spark.loading.offsets import KafkaOffsets
from metl_spark.loading.preview import show
from metl_spark.loading.settings import BATCH, LoadSettings
from metl_spark.mapping import matrix
from metl_spark.mapping.count import count
from metl_spark.mapping.job import map_messages
from metl_spark.mapping.progress import from_spark
from metl_spark.mapping.restore import without_replays
from metl_spark.runtime import kafka, options
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import explained
from metl_spark.runtime.limits import Limits
from metl_spark.runtime.session import session
from metl_spark.runtime.supervise import supervise


def start(spark: SparkSession, settings: LoadSettings, jdbc: dict[str, str], instance: str) -> StreamingQuery:
    rows = matrix.read(spark, jdbc, settings.job, instance)
    routed = map_messages(
        without_replays(before_end(kafka.read(spark, settings), settings.limits)),
        matrix.observed_entries(rows, settings.prefix),
        settings,
        halt=settings.unknown_version == "halt",
    )
    return kafka.write(count(routed, with_latency=False), settings).queryName(settings.job).start()


@options.command
@options.topics
@options.job("load")
@options.checkpoint("metl load")
@click.option(
    "--from",
    "starting",
    help="Where to begin: earliest, latest, a moment (2026-01-31T12:00Z, or 2h ago), or offsets of every partition, "
    '{"topic": {"0": 1200, "1": 900}}. [default: earliest]',
)
@click.option("--until", help="Where to end, likewise: that message is not loaded. [default: what is there]")
@click.option("--why", help="The reason, to be recorded: with --from or --until.")
@click.option("--yes", is_flag=True, help="Do not ask: with --from or --until.")
@click.option("--dry-run", is_flag=True, help="Only show how many messages there are in each topic.")
@click.option("--batch", type=click.IntRange(1), default=BATCH, show_default=True, help="Messages between two commits.")
@click.option(
    "--tasks",
    type=click.IntRange(1),
    help="At least so many at once, even if topics have fewer partitions. Records of one key may then come out of "
    "order, by metl.offset: not for compacted topics.",
)
@options.unknown_version
@options.prefix("go to")
@options.dead_letters
@options.kafka("metl load")
def main(
    topics: str, job: str, checkpoint: str, starting: str | None, until: str | None, why: str | None, yes: bool,
    dry_run: bool, batch: int, tasks: int | None, unknown_version: str, prefix: str, dead_letters: str, brokers: str,
    kafka_options: dict[str, str],
) -> None:  # fmt: skip
    """Map what is in topics now to the entities of the canonical data model, and end.

    The same records as of `metl map`, with the same positions: readers that have them already see no change. After
    Ctrl-C, a crash or a kill the same command goes on from its last commit. To load a topic once more, take another
    --job.

    With --from or --until it first shows how many messages that is and asks; who did it and why is recorded in
    metl.operations.
    """
    require_readable(starting, until)
    is_limited = starting is not None or until is not None
    if is_limited and not dry_run and not (why or "").strip():
        raise BadInput("--from and --until map chosen messages once more. Give the reason with --why; it is recorded.")
    settings = LoadSettings(
        topics=topics, job=job, checkpoint=checkpoint, batch=batch, tasks=tasks, unknown_version=unknown_version,
        prefix=prefix, dead_letters=dead_letters, brokers=brokers, kafka_options=kafka_options,
    )  # fmt: skip
    kafka.require(settings)
    if dry_run:
        with explained(), session(settings, bulk=True) as spark, KafkaOffsets(spark, settings) as offsets:
            show(counts(offsets, resolve_limits(offsets, settings, starting, until)))
        return
    with snapshot(config.job_dsn(), config.job_variable()) as connection:
        limits = earlier(connection, settings, starting, until)
    if not is_limited:
        instance = str(uuid.uuid4())
        with Control.open(settings, instance) as control, session(settings, bulk=True) as spark:
            if warning := kafka.unmatched(spark, settings):
                raise BadInput(f"There is nothing to load. {warning}")
            load(spark, settings, control, instance)
        return
    with session(settings, bulk=True) as spark:
        load_within(spark, settings, limits, starting, until, str(why), yes)


def load(spark: SparkSession, settings: LoadSettings, control: Control, instance: str) -> Bar:
    with Bar(settings.job) as bar:
        supervise(
            lambda: start(spark, settings, control.jdbc, instance),
            control,
            settings,
            partial(from_spark, limits=settings.limits),
            bar.say,
            bar.update,
        )
        bar.summarize()
    return bar


def load_within(
    spark: SparkSession, settings: LoadSettings, limits: Limits | None, starting: str | None, until: str | None,
    why: str, yes: bool,
) -> None:  # fmt: skip
    """Loads what is between --from and --until, after asking. `limits` are those of an earlier start."""
    with explained(), KafkaOffsets(spark, settings) as offsets:
        chosen = limits or resolve_limits(offsets, settings, starting, until)
        messages = counts(offsets, chosen)
    show(messages)
    total = sum(messages.values())
    if not total:
        click.echo("There is nothing to load.")
        return
    confirm(f"Map {plural(total, 'message')}?", yes)
    limited = replace(settings, limits=chosen)
    about = {"job": settings.job, "topics": messages, **asdict(chosen)}
    instance = str(uuid.uuid4())
    with operation(_operator(), "load", why, about) as record, Control.open(limited, instance) as control:
        record.outcome["messages"] = load(spark, limited, control, instance).messages


def _operator() -> str:
    """The DSN of whoever is recorded: that of METL_DSN; on a cluster there may only be the job's."""
    return config.DATABASE.find() or config.job_dsn()
