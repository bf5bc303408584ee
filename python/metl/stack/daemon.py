"""One background process: started, found again by a later command, stopped; never mistaken for another.

psutil finds and ends processes. What it does not have is kept here: which process METL started, recorded in a file.
"""

import collections
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil

from metl.home import write_private

KILL_TIMEOUT = 5.0


class Daemon:
    """Its folder has `process.json`, the record of what was started, and `log`, its output."""

    def __init__(self, folder: Path) -> None:
        self.record = folder / "process.json"
        self.log = folder / "log"

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        launcher: Sequence[str] = (),
    ) -> subprocess.Popen[bytes]:
        """`launcher` is a program that sets something up and then becomes argv (it execs)."""
        command = [str(word) for word in argv]
        if self.log.exists():
            self.log.replace(self.log.with_name("log.old"))
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [*launcher, *command],
                cwd=self.log.parent,
                # Java can name files in any language only under a locale that can.
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            write_private(self.record, json.dumps({"pid": process.pid, "argv": command}))
        except BaseException:
            # Without a record no later command would find it.
            process.kill()
            process.wait()
            raise
        return process

    def process(self) -> psutil.Process | None:
        """The process we started, if it is still there.

        A pid is not enough: after a crash it may belong to any other program. The whole command line identifies it,
        since that holds the path of this folder.
        """
        try:
            record = json.loads(self.record.read_text())
            process = psutil.Process(record["pid"])
            if process.cmdline() == record["argv"] and process.status() != psutil.STATUS_ZOMBIE:
                return process
        except (FileNotFoundError, ValueError, KeyError, TypeError, psutil.NoSuchProcess, psutil.AccessDenied):
            pass
        return None

    def was_started(self) -> bool:
        return self.record.exists()

    def stop(self, stop_signal: signal.Signals, timeout: float) -> None:
        """Sends `stop_signal`, and SIGKILL after `timeout` seconds; returns when it and its children have ended."""
        process = self.process()
        if process is not None:
            try:
                family = [process, *process.children(recursive=True)]
                process.send_signal(stop_signal)
                _, alive = psutil.wait_procs(family, timeout=timeout)
                for each in alive:
                    each.kill()
                psutil.wait_procs(alive, timeout=KILL_TIMEOUT)
            except psutil.NoSuchProcess:
                pass
        self.record.unlink(missing_ok=True)

    def resident_bytes(self) -> int:
        process = self.process()
        total = 0
        for each in [process, *process.children(recursive=True)] if process else []:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += each.memory_info().rss
        return total

    def last_lines(self, lines: int = 12) -> str:
        try:
            with self.log.open(errors="replace") as log:
                return "".join(collections.deque(log, maxlen=lines))
        except FileNotFoundError:
            return ""
