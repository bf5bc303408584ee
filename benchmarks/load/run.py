"""How fast a backlog is mapped and how fast entities become tables, beside what anybody could write by hand.

Everything on this machine at once: broker, database and the one that is measured. METL_MESSAGES sets how many.
"""

import asyncio
import os

from backlog import TOPIC, fill_matrix, fill_topic, make_topics, records
from programs import HERE, Stack, measure, running_stack
from rich.table import Table
from tables import tables

from metl.jvm import jars
from metl.util.terminal import console

COUNT = int(os.environ.get("METL_MESSAGES", "1000000"))


def loads(stack: Stack) -> None:
    """Kafka to Kafka, two records for each message."""
    shown = Table(
        "Kafka to Kafka", "seconds", "messages/s", "CPU µs/message", "times the hand-written job",
        title=f"{COUNT:,} messages of about 330 bytes to two entities each",
    )  # fmt: skip
    make_topics(stack.kafka, "copy.out", "hand.person", "hand.place", "cdm.person", "cdm.place", "metl.dead")
    contestants = {
        "Spark plain copy": (HERE / "copy_backlog.py", stack.kafka, stack.folder("copy"), "copy.out"),
        "hand-written Spark job": (HERE / "hand_written.py", stack.kafka, stack.folder("hand")),
        "metl load": (HERE / "metl_load.py", "load", "--topics", TOPIC, "--checkpoint", stack.folder("load")),
    }
    taken = {name: measure(stack, *words) for name, words in contestants.items()}
    by_hand = taken["hand-written Spark job"].seconds
    for name, one in taken.items():
        cells = (f"{one.seconds:.1f}", f"{COUNT / one.seconds:,.0f}", f"{one.cpu / COUNT * 1e6:.1f}")
        shown.add_row(name, *cells, f"{by_hand / one.seconds:.2f}")
    for ours, theirs in (("cdm.person", "hand.person"), ("cdm.place", "hand.place")):
        if records(stack.kafka, ours) != records(stack.kafka, theirs):
            raise SystemExit(f"{ours} and {theirs} differ in how many records they have.")
    console.print(shown)


def main() -> None:
    asyncio.run(jars.fetch("spark", lambda _text: None))
    with running_stack() as stack:
        fill_topic(stack.kafka, COUNT)
        fill_matrix(stack.postgres, stack.home)
        loads(stack)
        tables(stack, COUNT)


if __name__ == "__main__":
    main()
