import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from metl.stack.daemon import Daemon

SLEEP = [sys.executable, "-c", "import time; print('awake', flush=True); time.sleep(300)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(300)",
]


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    return Daemon(tmp_path)


def await_words(daemon: Daemon, words: str) -> None:
    end = time.monotonic() + 10
    while words not in daemon.last_lines():
        assert time.monotonic() < end, f"it never said {words!r}"
        time.sleep(0.02)


@pytest.mark.parametrize(("argv", "words"), [(SLEEP, "awake"), (DEAF, "deaf")])
def test_a_later_command_finds_and_stops_it(daemon: Daemon, tmp_path: Path, argv: list[str], words: str) -> None:
    child = daemon.start(argv)
    await_words(daemon, words)
    later = Daemon(tmp_path)
    process = later.process()
    assert process is not None and process.pid == child.pid
    assert later.resident_bytes() > 0
    later.stop(signal.SIGTERM, timeout=0.5)
    assert later.process() is None
    assert not later.was_started()
    child.wait(5)


def test_a_pid_that_belongs_to_another_program_is_never_killed(daemon: Daemon) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        daemon.record.write_text(json.dumps({"pid": stranger.pid, "argv": SLEEP}))
        assert daemon.process() is None
        daemon.stop(signal.SIGTERM, timeout=0.5)
        assert stranger.poll() is None
        assert not daemon.was_started()
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("record", ["", "{}", "[1]", '{"pid": "x", "argv": []}', '{"pid": -1, "argv": []}'])
def test_a_spoilt_record_is_no_process(daemon: Daemon, record: str) -> None:
    daemon.record.write_text(record)
    assert daemon.process() is None


def test_children_end_with_it(daemon: Daemon) -> None:
    parent = daemon.start([sys.executable, "-c", f"import subprocess; subprocess.run({SLEEP!r})"])
    await_words(daemon, "awake")
    [child] = psutil.Process(parent.pid).children()
    daemon.stop(signal.SIGTERM, timeout=0.5)
    parent.wait(5)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_the_last_lines_of_its_log_are_kept(daemon: Daemon) -> None:
    daemon.start([sys.executable, "-c", "print(*range(100), sep='\\n')"]).wait(10)
    assert daemon.last_lines(lines=3) == "97\n98\n99\n"
