"""The bulk mapper: what is in topics now, as fast as the machine allows, and then it ends.

It is the mapping of map_stream, set up for a backlog. Batches are large but not endless, so that progress shows and a
kill loses little; it goes on from the last one.

metl load --topics 'shop\\..*'
"""

import os
import uuid
from dataclasses import replace

import click

from loader.preview import preview
from loader.progress import Progress
from loader.span import read_from, read_until
from map_stream import start
from mapper import kafka
from mapper.control import Control
from mapper.session import session
from mapper.settings import Settings, read_kafka_options
from mapper.supervise import supervise
from metl.errors import MetlError

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
    default="earliest",
    show_default=True,
    help="Where to begin without a checkpoint: earliest, a time such as 2026-01-31T12:00Z, or offsets as JSON, "
    '{"topic": {"0": 1200, "1": 900}}, of every partition.',
)
@click.option(
    "--until", help="Where to end: a time or offsets likewise (those are not loaded). [default: what is there]"
)
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
    topics: str, job: str, checkpoint: str, starting: str, until: str | None, dry_run: bool, batch: int,
    tasks: int | None, unknown_version: str, prefix: str, dead_letters: str, brokers: str, kafka_config: str | None,
    options: tuple[str, ...],
) -> None:  # fmt: skip
    """Map what is in topics now to the entities of the canonical data model, and end.

    The same records as of `metl map`, with the same positions: who has them already changes nothing. After Ctrl-C, a
    crash or a kill the same command goes on from its last commit. To load a topic once more, take another --job.
    """
    first, reading = read_from(starting)
    told = Settings(
        topics=topics, job=job, checkpoint=checkpoint, starting=first, unknown_version=unknown_version, prefix=prefix,
        dead_letters=dead_letters, brokers=brokers, kafka_options=read_kafka_options(kafka_config, options),
        reading=reading, until=read_until(until), replays=None,
    )  # fmt: skip
    settings = in_bulk(told, batch, tasks)
    kafka.require(settings)
    if dry_run:
        with session(settings, bulk=True) as spark:
            preview(spark, settings)
        return
    instance = str(uuid.uuid4())
    with Control.open(settings, instance) as control, session(settings, bulk=True) as spark, Progress(job) as progress:
        supervise(
            lambda: start(spark, settings, control.jdbc, instance), control, settings, progress.say, progress.seen
        )
        progress.summarize()


if __name__ == "__main__":
    try:
        main()
    except MetlError as error:
        click.echo(f"Error: {error}", err=True)
        # spark-submit passes on what the process ends with.
        os._exit(error.exit_code)
