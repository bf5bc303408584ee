"""kill -9 during a stream of writes: what was answered is there, nothing is half done, writing goes on."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
import pytest

from metl.home import Home
from metl.stack.postgres import Postgres
from tests.matrix.test_concurrency import BEATEN_TO_IT, Call, Traffic, fingerprint, one
from tests.stack.conftest import Metl

WRITERS = 4
#: The postmaster alone leaves its children to notice; all at once is what a power cut looks like.
KILLS = ["postmaster", "everything", "postmaster"]


@pytest.fixture
def metl(tmp_path: Path) -> Iterator[Metl]:
    command = Metl(tmp_path / "home")
    yield command
    command("down")
    assert command.processes() == []


@dataclass
class Stream:
    dsn: str
    traffic: Traffic = field(default_factory=Traffic)
    #: What each answered call did, and the matrix right after it, by its state.
    answered: dict[int, tuple[Call, str]] = field(default_factory=dict)
    has_begun: threading.Event = field(default_factory=threading.Event)

    def write(self, connection: psycopg.Connection, seed: str) -> None:
        """Writes until the server is gone, which leaves one call without an answer."""
        rng = random.Random(seed)
        while True:
            try:
                with connection.transaction():
                    call = self.traffic.call(connection, rng)
                    state = call(connection)
                    after = fingerprint(connection)
            except BEATEN_TO_IT:
                continue
            except psycopg.OperationalError:
                # Deadlocks are of this class too, but leave the connection alive.
                if not connection.closed:
                    raise
                return
            self.answered[state] = call, after
            self.has_begun.set()


def kill(metl: Metl, what: str) -> None:
    pid = json.loads((metl.home / "postgres" / "process.json").read_text())["pid"]
    doomed = [pid]
    if what == "everything":
        doomed += [child.pid for child in psutil.Process(pid).children(recursive=True)]
    for each in doomed:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_what_was_answered_survives_kill_9(metl: Metl) -> None:
    metl("up", "postgres")
    metl("install")
    stream = Stream(Postgres(Home(metl.home)).local_address)
    rng = random.Random()
    for kills, what in enumerate(KILLS, start=1):
        stream.has_begun.clear()
        connections = [psycopg.connect(stream.dsn, autocommit=True) for _ in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(stream.write, each, f"{kills} {n}") for n, each in enumerate(connections)]
            assert stream.has_begun.wait(30), "writing goes on"
            time.sleep(rng.uniform(0.1, 1.0))
            kill(metl, what)
        for writer in writers:
            writer.result()
        metl("up", "postgres")
        with psycopg.connect(stream.dsn, autocommit=True) as connection:
            is_whole(connection, stream, kills)
    with psycopg.connect(stream.dsn, autocommit=True) as connection:
        holds_what_was_answered(connection, stream)


def is_whole(connection: psycopg.Connection, stream: Stream, kills: int) -> None:
    assert connection.execute("select * from metl.check()").fetchall() == []
    states = [row[0] for row in connection.execute("select state from metl.states order by state")]
    assert states == list(range(1, len(states) + 1))
    assert one(connection.execute("select metl.current_state()"))[0] == len(states)
    assert fingerprint(connection) == remembered(connection, len(states)), "the last state is whole"
    assert set(stream.answered) <= set(states), "every answered call is there"
    assert len(states) <= len(stream.answered) + WRITERS * kills, "and nothing that nobody asked for"


def holds_what_was_answered(connection: psycopg.Connection, stream: Stream) -> None:
    causes: dict[int, str] = dict(connection.execute("select state, cause from metl.states").fetchall())
    for state, (call, after) in stream.answered.items():
        assert causes[state] == call.function, f"state {state}: {call}"
        assert remembered(connection, state) == after, f"state {state}: {call}"


def remembered(connection: psycopg.Connection, state: int) -> str:
    return fingerprint(connection, "select * from metl.decompaction_at(%s)", state)
