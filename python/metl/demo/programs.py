"""Commands of METL as subprocesses, in the background or to their end."""

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
    """A `metl` command in the background. Its output goes to a file, so that it can outlive this process."""

    def __init__(self, home: Home, words: list[str], on_line: Callable[[str], None]) -> None:
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
        threading.Thread(target=self._follow, args=(on_line,), daemon=True).start()

    def require_running(self) -> None:
        """Raises if it has ended."""
        if self._process.poll() is not None:
            raise MetlError(f"metl {self.name} ended with exit code {self._process.returncode}. {self._output()}")

    def stop(self, codes: tuple[int, ...] = (0,)) -> None:
        """Sends SIGTERM; raises if it does not end with one of `codes`."""
        self._process.terminate()
        try:
            code = self._process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise MetlError(f"metl {self.name} does not stop. {self._output()}") from None
        if code not in codes:
            raise MetlError(f"metl {self.name} ended with exit code {code}. {self._output()}")

    def kill(self) -> None:
        """With its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _follow(self, on_line: Callable[[str], None]) -> None:
        """Passes each line on, until the program has ended and its output is read to the end."""
        with self.log.open(errors="replace") as output:
            while True:
                has_ended = self._process.poll() is not None
                for line in output:
                    on_line(line.rstrip())
                if has_ended:
                    return
                time.sleep(0.1)

    def _output(self) -> str:
        return f"Its output:\n{self.log.read_text(errors='replace')[-2000:]}"


class Programs:
    """The background programs of the scenario."""

    def __init__(self, home: Home, say: Callable[[str], None]) -> None:
        self._home = home
        self._say = say
        self.running: list[Program] = []

    def start(self, *words: str) -> None:
        """Its output is passed to `say` line by line."""
        self.running.append(Program(self._home, list(words), lambda line: self._say(f"[{words[0]}] {line}")))

    def require_running(self) -> None:
        """Raises if one of them has ended."""
        for program in self.running:
            program.require_running()

    @contextlib.contextmanager
    def stopped_at_exit(self, keep: bool) -> Iterator[None]:
        """Stops them at the end, unless `keep`; kills them after a failure."""
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
    """The output of a command; raises if it does not end with one of `codes`."""
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
