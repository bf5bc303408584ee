"""The systems under test, each a process of its own: an echo loop, Spark copying, the mapper."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from traffic import TOPIC, end_offset, make_topics

from metl.db.install import install
from metl.home import Home
from metl.stack import parts, supervisor
from metl.util import signals

HERE = Path(__file__).parent
METL = Path(sys.executable).with_name("metl")
DURATION = 60.0
TIMEOUT = 180.0


@dataclass
class Stack:
    home: Home
    postgres: str
    kafka: str


@contextlib.contextmanager
def running_stack() -> Iterator[Stack]:
    with signals.all_interrupt(), tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder, "home"))
        started = parts(home, ("postgres", "kafka"))
        supervisor.up(home, started, lambda _part, _text: None)
        try:
            postgres, kafka = (part.address for part in started)
            install(postgres)
            yield Stack(home, postgres, kafka)
        finally:
            with signals.shielded():
                supervisor.down(home, started, lambda _part, _text: None)


@dataclass
class System:
    name: str
    stack: Stack
    source: str
    target: str
    #: The end times of its batches, in seconds since 1970.
    boundaries: Callable[[], list[float]] = list

    def catch_up(self) -> float:
        """Waits until its target has every message of its source; returns the seconds."""
        began = time.monotonic()
        while end_offset(self.stack.kafka, self.target) < end_offset(self.stack.kafka, self.source):
            if time.monotonic() - began > TIMEOUT:
                raise SystemExit(f"The {self.name} is still behind after {TIMEOUT} s.")
            time.sleep(0.1)
        return time.monotonic() - began


@contextlib.contextmanager
def _program(home: Home, *command: str | Path) -> Iterator[None]:
    """Runs in the background and is killed at the end. Raises if it has failed before."""
    environment = {**os.environ, "METL_HOME": str(home.path)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
            if process.poll():
                log.seek(0)
                raise SystemExit(f"{command[1]} ended: {log.read().decode()[-2000:]}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def echo(stack: Stack) -> Iterator[System]:
    make_topics(stack.kafka, "echo.in", "echo.out")
    with _program(stack.home, sys.executable, HERE / "echo.py", stack.kafka, "echo.in", "echo.out"):
        yield System("echo loop", stack, "echo.in", "echo.out")


@contextlib.contextmanager
def copy(stack: Stack) -> Iterator[System]:
    make_topics(stack.kafka, "copy.in", "copy.out")
    checkpoint, progress = (Path(tempfile.mkdtemp(dir=stack.home.path), name) for name in ("checkpoint", "progress"))
    arguments = (stack.kafka, "copy.in", "copy.out", checkpoint, str(DURATION), progress)

    def boundaries() -> list[float]:
        return [json.loads(line) for line in progress.read_text().splitlines()]

    with _program(stack.home, sys.executable, HERE / "copy_stream.py", *arguments):
        yield System("Spark copy", stack, "copy.in", "copy.out", boundaries)


@contextlib.contextmanager
def mapper(stack: Stack) -> Iterator[System]:
    """Continues from the checkpoint of the run before."""
    checkpoint = stack.home.path / "checkpoint"
    options = ("--topics", TOPIC, "--checkpoint", checkpoint, "--duration", str(DURATION))

    def boundaries() -> list[float]:
        with psycopg.connect(stack.postgres) as connection:
            rows = connection.execute("select extract(epoch from ended_at)::float8 from metl.job_batches").fetchall()
        return [at for (at,) in rows]

    system = System("mapper", stack, TOPIC, "cdm.person", boundaries)
    with _program(stack.home, METL, "map", *options):
        yield system
        system.catch_up()
        subprocess.run([METL, "jobs", "stop", "map"], env={**os.environ, "METL_HOME": str(stack.home.path)}, check=True)
        _await_stop(stack)


def _await_stop(stack: Stack) -> None:
    """It stops after its batch, so that the next run sends nothing twice."""
    end = time.monotonic() + DURATION + 30
    with psycopg.connect(stack.postgres, autocommit=True) as connection:
        while connection.execute("select running from metl.jobs").fetchall() != [(False,)]:
            if time.monotonic() > end:
                raise SystemExit("The mapper does not stop.")
            time.sleep(0.5)
