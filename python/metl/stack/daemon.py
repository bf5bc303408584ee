"""One background process: started, found again by a later command, stopped; never mistaken for another."""

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

KILLED_AFTER = 5.0


class Daemon:
    """Lives in one folder: `process.json` says what was started, `log` is what it printed."""

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
        words = [str(word) for word in argv]
        if self.log.exists():
            self.log.replace(self.log.with_name("log.old"))
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [*launcher, *words],
                cwd=self.log.parent,
                # Java can name files in any language only under a locale that can.
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            write_private(self.record, json.dumps({"pid": process.pid, "argv": words}))
        except BaseException:
            # Nobody would ever find it again.
            process.kill()
            process.wait()
            raise
        return process

    def process(self) -> psutil.Process | None:
        """The process we started, if it is still there.

        A number alone proves nothing: after a crash it may belong to any other program. The whole
        command line does, since it holds this folder's path.
        """
        try:
            record = json.loads(self.record.read_text())
            found = psutil.Process(record["pid"])
            if found.cmdline() == record["argv"] and found.status() != psutil.STATUS_ZOMBIE:
                return found
        except (FileNotFoundError, ValueError, KeyError, TypeError, psutil.NoSuchProcess, psutil.AccessDenied):
            pass
        return None

    def was_started(self) -> bool:
        return self.record.exists()

    def stop(self, how: signal.Signals, patience: float) -> None:
        """Asks with `how`, insists after `patience` seconds; returns when it and its children are gone."""
        process = self.process()
        if process is not None:
            try:
                family = [process, *process.children(recursive=True)]
                process.send_signal(how)
                _, left = psutil.wait_procs(family, timeout=patience)
                for straggler in left:
                    straggler.kill()
                psutil.wait_procs(left, timeout=KILLED_AFTER)
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

    def last_words(self, lines: int = 12) -> str:
        try:
            with self.log.open(errors="replace") as log:
                return "".join(collections.deque(log, maxlen=lines))
        except FileNotFoundError:
            return ""
