"""The commands of METL that the story uses: some run beside it, some to their end."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from metl.errors import MetlError
from metl.home import Home

TIMEOUT = 120.0
METL = (sys.executable, "-m", "metl")


class Program:
    """A `metl` command that goes on until it is told to stop. It speaks to a file, so that it can outlive us."""

    def __init__(self, home: Home, words: list[str], hear: Callable[[str], None]) -> None:
        self.name = words[0]
        self.log = home.path / f"{self.name}.log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [*METL, *words],
                env={**os.environ, "METL_HOME": str(home.path), "PYTHONUNBUFFERED": "1"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.pid = self._process.pid
        threading.Thread(target=self._listen, args=(hear,), daemon=True).start()

    def require(self) -> None:
        """Raises if it has ended."""
        if self._process.poll() is not None:
            raise MetlError(f"metl {self.name} ended with exit code {self._process.returncode}. {self._said()}")

    def stop(self, codes: tuple[int, ...] = (0,)) -> None:
        """Politely; raises if it does not end with one of `codes`."""
        self._process.terminate()
        try:
            code = self._process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise MetlError(f"metl {self.name} does not stop. {self._said()}") from None
        if code not in codes:
            raise MetlError(f"metl {self.name} ended with exit code {code}. {self._said()}")

    def kill(self) -> None:
        """It and all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _listen(self, hear: Callable[[str], None]) -> None:
        """Until it ends and all that it said was heard."""
        with self.log.open(errors="replace") as said:
            while True:
                has_ended = self._process.poll() is not None
                for line in said:
                    hear(line.rstrip())
                if has_ended:
                    return
                time.sleep(0.1)

    def _said(self) -> str:
        return f"It said:\n{self.log.read_text(errors='replace')[-2000:]}"


class Programs:
    """Those that run beside the story."""

    def __init__(self, home: Home, say: Callable[[str], None]) -> None:
        self._home = home
        self._say = say
        self.running: list[Program] = []

    def start(self, *words: str) -> None:
        """What it says is told as it says it."""
        self.running.append(Program(self._home, list(words), lambda line: self._say(f"[{words[0]}] {line}")))

    def require(self) -> None:
        """Raises if one of them has ended."""
        for program in self.running:
            program.require()

    @contextlib.contextmanager
    def ended(self, keep: bool) -> Iterator[None]:
        """At the end they are told to stop, unless they are kept; after a failure they are ended at once."""
        try:
            yield
            if not keep:
                for program in reversed(self.running):
                    program.stop()
        except BaseException:
            for program in self.running:
                program.kill()
            raise


def run(home: Home, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    """What a command prints; raises if it does not end with one of `codes`."""
    done = subprocess.run(
        [*METL, *words],
        env={**os.environ, "METL_HOME": str(home.path), "COLUMNS": "110"},
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=TIMEOUT,
    )
    if done.returncode not in codes:
        raise MetlError(f"metl {' '.join(words)} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
