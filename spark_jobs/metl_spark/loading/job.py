"""The bulk mapper: what is in topics now, as fast as the machine allows, and then it ends.

It is the mapping of map_stream, set up for a backlog. Batches are large but not endless, so that progress shows and a
kill loses little; it goes on from the last one.

metl load --topics 'shop\\..*'
"""

import uuid
from dataclasses import asdict, replace
from functools import partial

import click
from pyspark.sql import SparkSession

from metl import config
from metl.db.connection import snapshot
from metl.errors import BadInput
from metl.streams.client_options import read_kafka_options
from metl.streams.operations import operation
from metl.util.prompts import agree
from metl.util.terminal import counted
from metl_spark.loading.client import Client
from metl_spark.loading.limits import counts, earlier, require_readable, resolved
from metl_spark.loading.preview import show
from metl_spark.loading.progress import Progress
from metl_spark.mapping.job import start
from metl_spark.runtime import kafka
from metl_spark.runtime.control import Control
from metl_spark.runtime.failures import in_a_sentence
from metl_spark.runtime.progress import from_spark
from metl_spark.runtime.session import session
from metl_spark.runtime.settings import Limits, Settings
from metl_spark.runtime.supervise import supervise

# Few and large requests, for which records may wait: nobody waits for them.
WRITING = {"kafka.linger.ms": "100", "kafka.batch.size": str(512 * 1024), "kafka.buffer.memory": str(128 * 1024 * 1024)}
BATCH = 500_000


def in_bulk(settings: Settings, batch: int = BATCH, tasks: int | None = None) -> Settings:
    """The same mapping, for a backlog."""
    reading = {"maxOffsetsPerTrigger": str(batch), **({"minPartitions": str(tasks)} if tasks else {})}
    return replace(settings, trigger="available-now", reading={**(settings.reading or {}), **reading}, writing=WRITING)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--topics", required=True, help="Which topics to map: a regular expression that matches whole names.")
@click.option("--job", default="load", show_default=True, help="The name under which `metl jobs` shows it.")
@click.option(
    "--checkpoint",
    required=True,
    help="Folder where it keeps how far it is, one for each load. Metl load has one by itself.",
)
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
    help="At least so many at once, also where topics have fewer partitions. Records of one key may then come out of "
    "order, to be told by metl.offset: not for compacted topics.",
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
    "--kafka",
    "brokers",
    envvar="METL_KAFKA",
    required=True,
    help="host:port of Kafka [env: METL_KAFKA]. Metl load knows that of `metl up`.",
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
def main(
    topics: str, job: str, checkpoint: str, starting: str | None, until: str | None, why: str | None, yes: bool,
    dry_run: bool, batch: int, tasks: int | None, unknown_version: str, prefix: str, dead_letters: str, brokers: str,
    kafka_config: str | None, options: tuple[str, ...],
) -> None:  # fmt: skip
    """Map what is in topics now to the entities of the canonical data model, and end.

    The same records as of `metl map`, with the same positions: who has them already changes nothing. After Ctrl-C, a
    crash or a kill the same command goes on from its last commit. To load a topic once more, take another --job.

    With --from or --until it says first how many messages that is and asks; who did it and why is recorded in
    metl.operations.
    """
    require_readable(starting, until)
    is_limited = starting is not None or until is not None
    if is_limited and not dry_run and not (why or "").strip():
        raise BadInput("--from and --until map chosen messages once more. Give the reason with --why; it is recorded.")
    told = Settings(
        topics=topics, job=job, checkpoint=checkpoint, unknown_version=unknown_version, prefix=prefix,
        dead_letters=dead_letters, brokers=brokers, kafka_options=read_kafka_options(kafka_config, options),
        replays=None,
    )  # fmt: skip
    settings = in_bulk(told, batch, tasks)
    kafka.require(settings)
    if dry_run:
        with in_a_sentence(), session(settings, bulk=True) as spark, Client(spark, settings) as client:
            show(counts(client, resolved(client, settings, starting, until)))
        return
    with snapshot(config.job_dsn(), config.job_variable()) as connection:
        known = earlier(connection, settings, starting, until)
    if not is_limited:
        instance = str(uuid.uuid4())
        with Control.open(settings, instance) as control, session(settings, bulk=True) as spark:
            if nothing := kafka.unmatched(spark, settings):
                raise BadInput(f"There is nothing to load. {nothing}")
            load(spark, settings, control, instance)
        return
    with session(settings, bulk=True) as spark:
        load_chosen(spark, settings, known, starting, until, str(why), yes)


def load(spark: SparkSession, settings: Settings, control: Control, instance: str) -> Progress:
    with Progress(settings.job) as progress:
        supervise(
            lambda: start(spark, settings, control.jdbc, instance),
            control,
            settings,
            progress.say,
            progress.seen,
            partial(from_spark, limits=settings.limits),
        )
        progress.summarize()
    return progress


def load_chosen(
    spark: SparkSession, settings: Settings, known: Limits | None, starting: str | None, until: str | None, why: str,
    yes: bool,
) -> None:  # fmt: skip
    """What --from and --until choose, if that is agreed to."""
    with in_a_sentence(), Client(spark, settings) as client:
        limits = known or resolved(client, settings, starting, until)
        found = counts(client, limits)
    show(found)
    if not any(found.values()):
        click.echo("There is nothing to load.")
        return
    agree(f"Map {counted(sum(found.values()), 'message')}?", yes)
    chosen = replace(settings, limits=limits)
    about = {"job": settings.job, "topics": found, **asdict(limits)}
    instance = str(uuid.uuid4())
    with operation(_recorder(), "load", why, about) as begun, Control.open(chosen, instance) as control:
        begun.outcome["messages"] = load(spark, chosen, control, instance).messages


def _recorder() -> str:
    """Who is recorded: whoever METL_DSN names; on a cluster there may be nobody but the job."""
    return config.DATABASE.find() or config.job_dsn()
