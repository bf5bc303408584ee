"""Runs the measured programs one at a time, on a stack of their own."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from metl.db.install import install
from metl.home import Home
from metl.stack import parts, supervisor
from metl.util import signals

HERE = Path(__file__).parent


@dataclass
class Stack:
    home: Home
    postgres: str
    kafka: str

    def folder(self, name: str) -> str:
        return str(self.home.path / "checkpoints" / name)


@dataclass(frozen=True)
class Measurement:
    seconds: float
    #: CPU seconds including Spark's start; other load on the machine changes it little.
    cpu: float


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


def measure(stack: Stack, *arguments: str | Path) -> Measurement:
    """Runs a Python program whose last line of output has the seconds of its work."""
    # So that it does not wait for the writes of programs before it.
    os.sync()
    environment = {**os.environ, "METL_HOME": str(stack.home.path), "METL_KAFKA": stack.kafka}
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, stderr=log) as process,
        _cpu_times(process.pid) as cpu_times,
    ):
        assert process.stdout is not None
        output = process.stdout.read().decode()
        if process.wait():
            log.seek(0)
            raise SystemExit(f"{arguments[0]} failed: {output}{log.read().decode()[-2000:]}")
    return Measurement(json.loads(output.splitlines()[-1])["seconds"], sum(cpu_times.values()))


@contextlib.contextmanager
def _cpu_times(pid: int) -> Iterator[dict[int, float]]:
    """CPU seconds of a process and its descendants by process id, sampled while they run."""
    cpu_times: dict[int, float] = {}
    stop = threading.Event()

    def sample() -> None:
        while not stop.wait(0.2):
            with contextlib.suppress(psutil.Error):
                parent = psutil.Process(pid)
                for each in [parent, *parent.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        times = each.cpu_times()
                        cpu_times[each.pid] = times.user + times.system

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield cpu_times
    finally:
        stop.set()
        thread.join()
