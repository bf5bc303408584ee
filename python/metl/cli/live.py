"""metl map: the live mapper on this machine."""

import itertools
import sys

import click

from metl import resources
from metl.home import Home
from metl.stack.kafka import Kafka


@click.command(
    "map",
    short_help="Map topics to entities, live.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def map_(words: tuple[str, ...]) -> None:
    """Map topics to entities, live: spark_jobs/map_stream.py on this machine."""
    sys.path.insert(0, str(resources.path("spark_jobs")))
    import map_stream  # only now: the other commands need no Spark

    home = Home.from_environment()
    kafka = Kafka(home)
    defaults = {"checkpoint": str(home.path / "checkpoints" / _job(words))}
    if kafka.is_elsewhere or kafka.port:
        defaults["brokers"] = kafka.address
    map_stream.main.main(list(words), prog_name="metl map", standalone_mode=False, default_map=defaults)


def _job(words: tuple[str, ...]) -> str:
    """Each job has its own folder, if none is given."""
    for word, following in itertools.pairwise([*words, ""]):
        if word == "--job":
            return following
        if word.startswith("--job="):
            return word.removeprefix("--job=")
    return "map"
