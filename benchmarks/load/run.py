"""Throughput of `metl load` and `metl warehouse`, relative to hand-written Spark and to COPY.

Broker, database and the measured program all run on this machine. METL_MESSAGES sets the number of messages.
"""

import asyncio
import os

from backlog import TOPIC, count_records, fill_matrix, fill_topic, make_topics
from programs import HERE, Stack, measure, running_stack
from rich.table import Table
from tables import tables

from metl.jvm import jars
from metl.util.terminal import console

COUNT = int(os.environ.get("METL_MESSAGES", "1000000"))


def loads(stack: Stack) -> None:
    """Kafka to Kafka, two records for each message."""
    result = Table(
        "Kafka to Kafka", "seconds", "messages/s", "CPU µs/message", "times the hand-written job",
        title=f"{COUNT:,} messages of about 330 bytes to two entities each",
    )  # fmt: skip
    make_topics(stack.kafka, "copy.out", "hand.person", "hand.place", "cdm.person", "cdm.place", "metl.dead")
    programs = {
        "Spark plain copy": (HERE / "copy_backlog.py", stack.kafka, stack.folder("copy"), "copy.out"),
        "hand-written Spark job": (HERE / "hand_written.py", stack.kafka, stack.folder("hand")),
        "metl load": (HERE / "metl_load.py", "load", "--topics", TOPIC, "--checkpoint", stack.folder("load")),
    }
    measurements = {name: measure(stack, *arguments) for name, arguments in programs.items()}
    by_hand = measurements["hand-written Spark job"].seconds
    for name, each in measurements.items():
        cells = (f"{each.seconds:.1f}", f"{COUNT / each.seconds:,.0f}", f"{each.cpu / COUNT * 1e6:.1f}")
        result.add_row(name, *cells, f"{by_hand / each.seconds:.2f}")
    for ours, theirs in (("cdm.person", "hand.person"), ("cdm.place", "hand.place")):
        if count_records(stack.kafka, ours) != count_records(stack.kafka, theirs):
            raise SystemExit(f"{ours} and {theirs} differ in their number of records.")
    console.print(result)


def main() -> None:
    asyncio.run(jars.fetch("spark", lambda _text: None))
    with running_stack() as stack:
        fill_topic(stack.kafka, COUNT)
        fill_matrix(stack.postgres, stack.home)
        loads(stack)
        tables(stack, COUNT)


if __name__ == "__main__":
    main()
