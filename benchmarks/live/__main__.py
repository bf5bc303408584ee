"""How fast messages come through the live mapper, beside a loop that only echoes them and Spark copying them.

Everything on this machine at once: broker, database, producer, consumer and the one that is measured. It takes 25
minutes; `make bench-live ARGS='latency sizes'` measures only some of latency, long, sustained and sizes.
"""

import asyncio
import multiprocessing
import statistics
import sys
import time

from broadcast import change_state, fill, refresh
from contestants import DURATION, Contestant, Stack, copy, echo, mapper, running_stack
from rich.table import Table
from traffic import TOPIC, Arrival, end_offset, make_topics, meter, produce

from metl.jvm import jars
from metl.util.terminal import console

SECONDS = DURATION  # so that a boundary falls into each
LONG = 300.0
RATES = (200, 2_000)
SUSTAINED = (20_000, 30_000, 40_000)
SIZES = (100, 1_000, 10_000)
BURST = 300_000
PARTS = ("latency", "long", "sustained", "sizes")
# The JVM has to compile what it runs often; a boundary of the first batch is among it.
WARM_UP = DURATION + 15


def percentiles(arrivals: list[Arrival]) -> list[str]:
    times = sorted(arrival.latency_ms for arrival in arrivals)
    return [f"{times[min(len(times) - 1, int(len(times) * share))]:.1f}" for share in (0.5, 0.9, 0.99, 1)]


def between(arrivals: list[Arrival], gaps: list[float]) -> list[Arrival]:
    """Without those that met a boundary: a batch ends, and the next one has to be planned."""
    return [arrival for arrival in arrivals if not any(-0.5 < arrival.sent - gap < 1 for gap in gaps)]


def say(text: str) -> None:
    console.print(f"{time.strftime('%H:%M:%S')} {text}", style="dim")


def measure(one: Contestant, rate: int, seconds: float) -> list[Arrival]:
    say(f"{one.name} at {rate:,} messages a second, for {seconds:.0f} s")
    with meter(one.stack.kafka, one.target) as arrivals:
        produce(one.stack.kafka, one.source, rate, seconds, 10)
        time.sleep(2)
    return arrivals


def latency(one: Contestant, table: Table) -> None:
    for rate in RATES:
        arrivals = measure(one, rate, SECONDS)
        table.add_row(one.name, f"{rate:,}", "all", *percentiles(arrivals))
        if gaps := one.boundaries():
            table.add_row(one.name, f"{rate:,}", "between boundaries", *percentiles(between(arrivals, gaps)))


def long_run(one: Contestant, table: Table) -> None:
    """Five minutes with commits and a state change in the middle."""
    say(f"{one.name} for {LONG:.0f} s")
    with meter(one.stack.kafka, one.target) as arrivals:
        produce(one.stack.kafka, one.source, 200, LONG / 2, 10)
        change_state(one.stack.postgres)
        produce(one.stack.kafka, one.source, 200, LONG / 2, 10)
        time.sleep(2)
    table.add_row(one.name, "200", "5 minutes, a new state", *percentiles(arrivals))
    table.add_row(one.name, "200", "… between boundaries", *percentiles(between(arrivals, one.boundaries())))


def sustained(one: Contestant, rate: int) -> tuple[float, float]:
    """Messages per second that came through, and how far behind it was at the end, in seconds."""
    say(f"{one.name} at {rate:,} messages a second")
    before = end_offset(one.stack.kafka, one.target)
    sender = multiprocessing.Process(target=produce, args=(one.stack.kafka, one.source, rate, 30.0, 10))
    began = time.monotonic()
    sender.start()
    sender.join()
    passed = end_offset(one.stack.kafka, one.target) - before
    took = time.monotonic() - began
    return passed / took, one.catch_up()


def burst(one: Contestant) -> float:
    """Messages per second of a backlog."""
    before = end_offset(one.stack.kafka, one.target)
    began = time.monotonic()
    sender = multiprocessing.Process(target=produce, args=(one.stack.kafka, one.source, BURST, 1.0, 10))
    sender.start()
    sender.join()
    one.catch_up()
    return (end_offset(one.stack.kafka, one.target) - before) / (time.monotonic() - began)


def speeds(stack: Stack, wanted: set[str]) -> None:
    times = Table("what", "msg/s", "which", "p50 ms", "p90", "p99", "max", title="Kafka to Kafka")
    for rival in (echo, copy) if "latency" in wanted else ():
        with rival(stack) as one:
            produce(stack.kafka, one.source, 200, 10 if rival is echo else WARM_UP, 10)
            latency(one, times)
    rates = Table("asked for, msg/s", "came through, msg/s", "behind at the end, s", title="Sustained rate")
    with mapper(stack) as one:
        produce(stack.kafka, one.source, 200, WARM_UP, 10)
        if "latency" in wanted:
            latency(one, times)
        if "long" in wanted:
            long_run(one, times)
        console.print(times)
        for rate in SUSTAINED if "sustained" in wanted else ():
            through, behind = sustained(one, rate)
            rates.add_row(f"{rate:,}", f"{through:,.0f}", f"{behind:.1f}")
    console.print(rates)


def sizes(stack: Stack) -> None:
    """The same traffic, with more and more in the matrix that it does not need."""
    table = Table(
        "schema versions", "broadcast, kB", "p50 ms at 2,000 msg/s", "p99", "a backlog, msg/s", "times slower",
        "a boundary, s", title="By size of the matrix",
    )  # fmt: skip
    first = 0.0
    for size in SIZES:
        say(f"a matrix of {size:,} schema versions")
        fill(stack, size)
        with mapper(stack) as one:
            produce(stack.kafka, one.source, 2_000, WARM_UP, 10)
            p50, _, p99, _ = percentiles(between(measure(one, 2_000, SECONDS / 2), one.boundaries()))
            rate = statistics.median(burst(one) for _ in range(3))
            first = first or rate
            kilobytes, boundary = refresh(stack.postgres)
        cells = (f"{size:,}", f"{kilobytes:,.0f}", p50, p99, f"{rate:,.0f}", f"{first / rate:.2f}", f"{boundary:.2f}")
        table.add_row(*cells)
    console.print(table)


def main() -> None:
    wanted = set(sys.argv[1:]) or set(PARTS)
    if unknown := wanted - set(PARTS):
        sys.exit(f"There is no {', '.join(sorted(unknown))} to measure. There are {', '.join(PARTS)}.")
    multiprocessing.set_start_method("spawn")
    asyncio.run(jars.fetch("spark", lambda _text: None))
    with running_stack() as stack:
        fill(stack, SIZES[0])
        make_topics(stack.kafka, TOPIC, "cdm.person", "cdm.place", "metl.dead")
        if wanted != {"sizes"}:
            speeds(stack, wanted)
        if "sizes" in wanted:
            sizes(stack)


if __name__ == "__main__":
    main()
