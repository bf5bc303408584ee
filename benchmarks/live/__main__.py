"""Latency and throughput of the live mapper, with two baselines: an echo loop, and Spark copying a topic.

Broker, database, producer, consumer and the measured system all run on this machine. It takes 25 minutes;
`make bench-live ARGS='latency sizes'` measures only some of latency, long, sustained and sizes.
"""

import asyncio
import multiprocessing
import statistics
import sys
import time

from broadcast import change_state, fill, refresh
from rich.table import Table
from systems import DURATION, Stack, System, copy, echo, mapper, running_stack
from traffic import TOPIC, Arrival, end_offset, make_topics, meter, produce

from metl.jvm import jars
from metl.util.terminal import console

SECONDS = DURATION  # so that each measurement includes a batch boundary
LONG = 300.0
RATES = (200, 2_000)
SUSTAINED = (20_000, 30_000, 40_000)
SIZES = (100, 1_000, 10_000)
BURST = 300_000
PARTS = ("latency", "long", "sustained", "sizes")
# For the JVM's compiler, up to and including the first batch boundary.
WARM_UP = DURATION + 15


def percentiles(arrivals: list[Arrival]) -> list[str]:
    times = sorted(arrival.latency_ms for arrival in arrivals)
    return [f"{times[min(len(times) - 1, int(len(times) * share))]:.1f}" for share in (0.5, 0.9, 0.99, 1)]


def between(arrivals: list[Arrival], boundaries: list[float]) -> list[Arrival]:
    """Without those at a batch boundary, when the next batch is planned."""
    return [arrival for arrival in arrivals if not any(-0.5 < arrival.sent - boundary < 1 for boundary in boundaries)]


def say(text: str) -> None:
    console.print(f"{time.strftime('%H:%M:%S')} {text}", style="dim")


def measure(system: System, rate: int, seconds: float) -> list[Arrival]:
    say(f"{system.name} at {rate:,} messages a second, for {seconds:.0f} s")
    with meter(system.stack.kafka, system.target) as arrivals:
        produce(system.stack.kafka, system.source, rate, seconds, 10)
        time.sleep(2)
    return arrivals


def latency(system: System, table: Table) -> None:
    for rate in RATES:
        arrivals = measure(system, rate, SECONDS)
        table.add_row(system.name, f"{rate:,}", "all", *percentiles(arrivals))
        if boundaries := system.boundaries():
            table.add_row(system.name, f"{rate:,}", "between boundaries", *percentiles(between(arrivals, boundaries)))


def long_run(system: System, table: Table) -> None:
    """Five minutes with commits and a state change in the middle."""
    say(f"{system.name} for {LONG:.0f} s")
    with meter(system.stack.kafka, system.target) as arrivals:
        produce(system.stack.kafka, system.source, 200, LONG / 2, 10)
        change_state(system.stack.postgres)
        produce(system.stack.kafka, system.source, 200, LONG / 2, 10)
        time.sleep(2)
    table.add_row(system.name, "200", "5 minutes, a new state", *percentiles(arrivals))
    table.add_row(system.name, "200", "… between boundaries", *percentiles(between(arrivals, system.boundaries())))


def sustained(system: System, rate: int) -> tuple[float, float]:
    """Throughput in messages per second, and the lag at the end in seconds."""
    say(f"{system.name} at {rate:,} messages a second")
    before = end_offset(system.stack.kafka, system.target)
    sender = multiprocessing.Process(target=produce, args=(system.stack.kafka, system.source, rate, 30.0, 10))
    began = time.monotonic()
    sender.start()
    sender.join()
    arrived = end_offset(system.stack.kafka, system.target) - before
    seconds = time.monotonic() - began
    return arrived / seconds, system.catch_up()


def burst(system: System) -> float:
    """Throughput of a backlog, in messages per second."""
    before = end_offset(system.stack.kafka, system.target)
    began = time.monotonic()
    sender = multiprocessing.Process(target=produce, args=(system.stack.kafka, system.source, BURST, 1.0, 10))
    sender.start()
    sender.join()
    system.catch_up()
    return (end_offset(system.stack.kafka, system.target) - before) / (time.monotonic() - began)


def speeds(stack: Stack, selected: set[str]) -> None:
    times = Table("what", "msg/s", "which", "p50 ms", "p90", "p99", "max", title="Kafka to Kafka")
    for baseline in (echo, copy) if "latency" in selected else ():
        with baseline(stack) as system:
            produce(stack.kafka, system.source, 200, 10 if baseline is echo else WARM_UP, 10)
            latency(system, times)
    rates = Table("sent, msg/s", "mapped, msg/s", "lag at the end, s", title="Sustained rate")
    with mapper(stack) as system:
        produce(stack.kafka, system.source, 200, WARM_UP, 10)
        if "latency" in selected:
            latency(system, times)
        if "long" in selected:
            long_run(system, times)
        console.print(times)
        for rate in SUSTAINED if "sustained" in selected else ():
            throughput, lag = sustained(system, rate)
            rates.add_row(f"{rate:,}", f"{throughput:,.0f}", f"{lag:.1f}")
    console.print(rates)


def sizes(stack: Stack) -> None:
    """The same traffic, with more and more schemas in the matrix."""
    table = Table(
        "schema versions", "broadcast, kB", "p50 ms at 2,000 msg/s", "p99", "a backlog, msg/s", "times slower",
        "a boundary, s", title="By size of the matrix",
    )  # fmt: skip
    first = 0.0
    for size in SIZES:
        say(f"a matrix of {size:,} schema versions")
        fill(stack, size)
        with mapper(stack) as system:
            produce(stack.kafka, system.source, 2_000, WARM_UP, 10)
            p50, _, p99, _ = percentiles(between(measure(system, 2_000, SECONDS / 2), system.boundaries()))
            rate = statistics.median(burst(system) for _ in range(3))
            first = first or rate
            kilobytes, boundary = refresh(stack.postgres)
        cells = (f"{size:,}", f"{kilobytes:,.0f}", p50, p99, f"{rate:,.0f}", f"{first / rate:.2f}", f"{boundary:.2f}")
        table.add_row(*cells)
    console.print(table)


def main() -> None:
    selected = set(sys.argv[1:]) or set(PARTS)
    if unknown := selected - set(PARTS):
        sys.exit(f"There is no {', '.join(sorted(unknown))} to measure. There are {', '.join(PARTS)}.")
    multiprocessing.set_start_method("spawn")
    asyncio.run(jars.fetch("spark", lambda _text: None))
    with running_stack() as stack:
        fill(stack, SIZES[0])
        make_topics(stack.kafka, TOPIC, "cdm.person", "cdm.place", "metl.dead")
        if selected != {"sizes"}:
            speeds(stack, selected)
        if "sizes" in selected:
            sizes(stack)


if __name__ == "__main__":
    main()
