"""metl sync --watch, as a process that goes on whatever happens around it."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.sync.artifacts import Artifacts, Matrix
from tests.sync.proxy import Proxy, proxy

#: A machine may be slow; what is measured is said where it matters.
TIMEOUT = 60.0


class Watcher:
    def __init__(self, matrix: Matrix, *words: str) -> None:
        chosen = [word for group in matrix.groups for word in ("--group", group)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "metl", "sync", "--watch", *chosen, *words],
            env={**os.environ, "METL_DSN": matrix.dsn, "METL_REGISTRY": matrix.registry},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.rstrip())

    def line(self, beginning: str) -> str:
        """The next one that begins so."""
        end = time.monotonic() + TIMEOUT
        seen: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line {beginning!r}, only {seen}") from None
            if line.startswith(beginning):
                return line
            seen.append(line)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)


@contextlib.contextmanager
def watching(matrix: Matrix, *words: str) -> Iterator[Watcher]:
    watcher = Watcher(matrix, *words)
    try:
        yield watcher
    finally:
        watcher.process.kill()
        watcher.process.wait()


@pytest.fixture
def between(registry: str, matrix: Matrix) -> Iterator[Proxy]:
    with proxy(registry) as made:
        matrix.registry = made.address
        yield made


def test_news_are_there_within_two_seconds(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "c0")
    with watching(matrix) as watcher:
        watcher.line("shop.customer 1 came: there was nothing to carry over.")
        took = []
        for number in range(2, 7):
            began = time.monotonic()
            artifacts.table("shop.customer", *(f"c{n}" for n in range(number)))
            watcher.line(f"shop.customer {number} came")
            took.append(time.monotonic() - began)
            # Not always at the same moment between two looks.
            time.sleep(0.17)
        artifacts.set_state("shop.customer-value", 1, "DISABLED")
        watcher.line("shop.customer 1 is DISABLED in the registry now.")
        artifacts.delete("shop.customer-value", 2)
        watcher.line("shop.customer 2 was deleted in the registry, and here: 0 cells went with it.")
        assert sorted(took)[len(took) // 2] < 2, took
        assert watcher.end() == 0


def test_it_outlives_the_registry_and_the_database(between: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    with watching(matrix) as watcher:
        watcher.line("shop.customer 1 came")
        between.stop()
        assert "got no answer" in watcher.line("GET ")
        artifacts.table("shop.customer", "b")
        between.start()
        watcher.line("shop.customer 2 came")
        watcher.line("All is well again.")

        with psycopg.connect(matrix.dsn, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and application_name like 'metl sync%'"
            )
        artifacts.table("shop.customer", "c")
        watcher.line("shop.customer 3 came")

        # Also in the middle of it all, it ends at once and well.
        between.stop()
        watcher.line("GET ")
        assert watcher.end(signal.SIGINT) == 0
    assert matrix.rows("select count(*) from metl.check()") == [(0,)]


def test_one_watches_and_another_stands_by(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    with contextlib.ExitStack() as both:
        first = both.enter_context(watching(matrix))
        first.line("shop.customer 1 came")
        second = both.enter_context(watching(matrix, "--json"))
        said = json.loads(second.line('{"event": "message"'))["text"]
        assert f"metl sync, process {first.process.pid} on" in said and said.endswith("watches already. Standing by.")
        # Whoever runs a single pass beside them has its turn.
        artifacts.table("shop.order", "a")
        matrix.sync()
        assert first.end() == 0
        artifacts.table("shop.customer", "b")
        event: dict[str, Any] = json.loads(second.line('{"event": "registered", "schema": "shop.customer"'))
        assert event["version"] == 2
        assert second.end() == 0


def test_a_plan_is_waited_for_and_then_it_goes_on(artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a", "b")
    with watching(matrix) as watcher:
        watcher.line("shop.customer 1 came")
        matrix.entity("shop.customer", x="a", y="b")
        matrix.rows("select metl.set_policy('shop.customer', null, 'confirm')")
        artifacts.table("shop.customer", "a")
        artifacts.table("shop.customer", "a", "c")
        watcher.line("shop.customer 2 waits as plan 1, since 1 cell would be lost.")
        matrix.rows("select metl.confirm_plan(1)")
        watcher.line("shop.customer 3 came: 1 cell carried over.")
        assert watcher.end() == 0


def test_what_is_wrong_from_the_start_is_said_at_once(artifacts: Artifacts, matrix: Matrix) -> None:
    assert "--watch goes on by itself" in matrix.sync("--watch", "--dry-run", code=2)
    matrix.dsn = "postgresql://nobody@127.0.0.1:1/metl"
    assert "The database does not answer" in matrix.sync("--watch", code=1)
