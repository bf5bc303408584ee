"""metl reprocess: maps again what outdated cells have mapped."""

import sys
import uuid
from dataclasses import asdict

import click
from rich.markup import escape

from metl import broker, resources
from metl.cli.asking import agree, why_option, yes_option
from metl.cli.display import console, print_json, table
from metl.database import address, one_state
from metl.home import Home
from metl.operations import operation
from metl.outdated import Outdated, earlier, left_behind, outdated, still_there
from metl.positions import Broker
from metl.stack.part import Say


@click.command(short_help="Map again what outdated cells mapped.")
@click.option("--since-state", type=int, required=True, help="The state before the change, as in metl.states.")
@click.option("--topic", help="Only this topic.")
@click.option("--job", default="reprocess", show_default=True, help="The name under which `metl jobs` shows it.")
@click.option("--prefix", default="cdm.", show_default=True, help="Entities go to topics of this prefix.")
@click.option("--dead-letters", default="metl.dead", show_default=True, help="The topic of what cannot be mapped.")
@click.option("--kafka-config", envvar="METL_KAFKA_CONFIG", help="File of Kafka client properties.")
@why_option
@yes_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def reprocess(
    since_state: int, topic: str | None, job: str, prefix: str, dead_letters: str, kafka_config: str | None,
    why: str, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Map again what was mapped with cells that changed after a state, and nothing else.

    The plan comes from the cells that were lost and gained since, and from the offsets that each batch of each job has
    read under which state. The messages come out with the same positions and a higher metl.state: of two records with
    the same position, that one is right. What is not mapped to an entity any more is taken back by a delete. What
    mappers read while this runs is not touched.
    """
    settings = broker.settings(kafka_config)
    with one_state(address()) as connection:
        planned = outdated(connection, since_state, topic)
    kafka = Broker(settings)
    try:
        ranges, gone = still_there(planned, kafka)
    finally:
        kafka.close()
    with one_state(address()) as connection:
        states = earlier(connection, ranges)
        behind = left_behind(connection, ranges, states)
    count = sum(each.end - each.first for each in ranges)
    plan = {"ranges": [each.plain() for each in ranges], "messages": count, "gone": gone, "may_be_taken_back": behind}
    if not as_json:
        _show(ranges)
    if gone:
        click.echo(f"{gone:,} messages are gone from Kafka and cannot be mapped again.", err=True)
    if not ranges:
        if as_json:
            print_json(plan)
        else:
            click.echo(f"Nothing that Kafka has was mapped with cells that changed since state {since_state}.")
        return
    for entity, most in behind.items():
        click.echo(f"Up to {most:,} records of {entity} are taken back: they are not mapped to it any more.", err=True)
    agree(f"Map {count:,} messages again?", yes)
    with operation(address(), "reprocess", why, {"since_state": since_state, **plan}) as begun:
        done = _run(
            ranges, states, job, prefix, dead_letters, kafka_config, say=lambda text: click.echo(text, err=as_json)
        )
        begun.outcome.update(done)
    if as_json:
        print_json({"operation": begun.number, **plan, "mapped": done["messages"], "taken_back": done["taken_back"]})
    else:
        undone = f", and {done['taken_back']:,} records taken back" if done["taken_back"] else ""
        click.echo(f"{done['messages']:,} messages were mapped again{undone}, as operation {begun.number}.")


def _run(
    ranges: list[Outdated], states: list[int], job: str, prefix: str, dead_letters: str, config: str | None, *, say: Say
) -> dict[str, int]:
    folder = str(resources.path("spark_jobs"))
    if folder not in sys.path:
        sys.path.append(folder)
    # Only now: a preview needs no Spark.
    import map_again
    from mapper import kafka
    from mapper.control import Control
    from mapper.failures import in_a_sentence
    from mapper.session import session
    from mapper.settings import Settings, read_kafka_options

    settings = Settings(
        topics="|".join(sorted({each.topic.replace(".", r"\.") for each in ranges})), job=job, trigger="available-now",
        checkpoint=str(Home.from_environment().path / "checkpoints" / job), brokers=broker.address(), prefix=prefix,
        dead_letters=dead_letters, replays=None, kafka_options=read_kafka_options(config, ()),
    )  # fmt: skip
    kafka.require(settings)
    instance = str(uuid.uuid4())
    wanted = [(each.topic, each.partition, each.first, each.end) for each in ranges]
    with Control.open(settings, instance) as control, in_a_sentence(), session(settings, bulk=True) as spark:
        return asdict(map_again.reprocess(spark, settings, control, instance, wanted, states, say))


def _show(ranges: list[Outdated]) -> None:
    if not ranges:
        return
    shown = table("topic", "partition", "from", "to", "messages", "states")
    for each in ranges:
        ends = sorted({*each.states[:1], *each.states[-1:]})
        states = "-".join(map(str, ends)) or "not recorded"
        numbers = (each.first, each.end - 1, each.end - each.first)
        shown.add_row(escape(each.topic), str(each.partition), *(f"{number:,}" for number in numbers), states)
    console.print(shown)
