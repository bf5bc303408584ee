"""metl map, metl load, metl warehouse: Spark jobs on this machine."""

import importlib
import itertools

import click

from metl import config
from metl.util import signals


@click.command(
    "map",
    short_help="Map topics to entities, live, until stopped.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def map_(words: tuple[str, ...]) -> None:
    """Map topics to entities, live: spark_jobs/map_stream.py on this machine."""
    run("mapping", "map", words)


@click.command(
    short_help="Map what is in topics now, and end.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def load(words: tuple[str, ...]) -> None:
    """Map what is in topics now, fast: spark_jobs/load_stream.py on this machine."""
    run("loading", "load", words)


@click.command(
    short_help="Keep the entities as tables of PostgreSQL.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def warehouse(words: tuple[str, ...]) -> None:
    """Keep entities as tables: spark_jobs/load_warehouse.py on this machine."""
    run("warehouse", "warehouse", words)


def run(module: str, command: str, words: tuple[str, ...]) -> None:
    """A job's own command, with this machine's Kafka and a checkpoint folder, where none is given."""
    job = importlib.import_module(f"metl_spark.{module}.job")  # only now: the other commands need no Spark

    defaults = {"checkpoint": str(config.home().path / "checkpoints" / _job(words, command))}
    if servers := config.KAFKA.find():
        defaults["brokers"] = servers
    # Until the job itself listens to signals: also a polite kill lets it say that it ended. Its main is not called,
    # which would make something else of a Ctrl-C.
    with (
        signals.all_interrupt(),
        job.main.make_context(f"metl {command}", list(words), default_map=defaults) as context,
    ):
        job.main.invoke(context)


def _job(words: tuple[str, ...], usual: str) -> str:
    """Each job has its own folder, if none is given."""
    for word, following in itertools.pairwise([*words, ""]):
        if word == "--job":
            return following
        if word.startswith("--job="):
            return word.removeprefix("--job=")
    return usual
