"""Programs that are measured, each by itself, and the servers that they need."""

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
class Taken:
    seconds: float
    #: Of all processors, in seconds, with Spark's start: other work on the machine does not change it much.
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
            with signals.undisturbed():
                supervisor.down(home, started, lambda _part, _text: None)


def measure(stack: Stack, *words: str | Path) -> Taken:
    """The last line that it prints has the seconds of its work."""
    # What others have written is not for this one to wait for.
    os.sync()
    environment = {**os.environ, "METL_HOME": str(stack.home.path), "METL_KAFKA": stack.kafka}
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.PIPE, stderr=log) as process,
        _clock(process.pid) as used,
    ):
        assert process.stdout is not None
        said = process.stdout.read().decode()
        if process.wait():
            log.seek(0)
            raise SystemExit(f"{words[0]} failed: {said}{log.read().decode()[-2000:]}")
    return Taken(json.loads(said.splitlines()[-1])["seconds"], sum(used.values()))


@contextlib.contextmanager
def _clock(pid: int) -> Iterator[dict[int, float]]:
    """Seconds of processors that a process and all that it started have used, by process."""
    used: dict[int, float] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            with contextlib.suppress(psutil.Error):
                parent = psutil.Process(pid)
                for each in [parent, *parent.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        times = each.cpu_times()
                        used[each.pid] = times.user + times.system

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield used
    finally:
        over.set()
        thread.join()
