"""metl dead-letters collect: from Kafka into the database."""

import signal
import threading

import click

from metl.cli.dead_letters.filters import attempts_option, replays_option
from metl.cli.options import json_option, kafka_config_option
from metl.config import job_dsn
from metl.streams import broker
from metl.streams.dead_letters.collect import Collector
from metl.util import signals
from metl.util.terminal import plural, print_json


@click.command(short_help="From Kafka into the database, each once.")
@click.option("--watch", is_flag=True, help="Go on, and send them again when a new state has their version.")
@click.option("--dead-letters", default="metl.dead", show_default=True, help="The topic of dead letters.")
@click.option("--job", default="collect", show_default=True, help="The name under which `metl jobs list` shows it.")
@attempts_option
@replays_option
@kafka_config_option
@json_option
def collect(
    watch: bool, dead_letters: str, job: str, attempts: int, replays: str, kafka_config: str | None, as_json: bool
) -> None:
    """Bring dead letters from Kafka into the database, each once.

    One collector works on a topic at a time. How far it is stands in the database, beside the dead letters. With
    --watch it goes on until Ctrl-C, SIGTERM or `metl jobs stop`, and sends those with reason unknown_version again,
    once a mapper uses a state that has the version. Needs METL_JOB_DSN (a member of metl_job).

    \b
    metl dead-letters collect --watch
    """
    stop = threading.Event()
    for number in signals.TERMINATION:
        signal.signal(number, lambda _number, _frame: stop.set())
    collector = Collector(
        job_dsn(),
        broker.settings(kafka_config),
        job=job,
        topic=dead_letters,
        replays=replays,
        max_replays=attempts,
        report=lambda text: click.echo(text, err=as_json),
    )
    collector.run(watch=watch, stop=stop)
    if as_json:
        print_json(collector.counts)
    else:
        came, new, sent = (collector.counts[name] for name in ("came", "new", "sent"))
        click.echo(f"{plural(came, 'dead letter')} came from {dead_letters}, {new:,} new; {sent:,} sent again.")
