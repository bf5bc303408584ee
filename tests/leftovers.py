"""What tests start carries a mark: a worker of pytest-xdist that is interrupted is killed soon, its servers are not."""

import contextlib
import os
import signal
import uuid

import psutil

#: METL_… would not reach what tests start without the addresses of whoever runs them.
MARK = "TESTS_RUN"
PATIENCE = 10.0


def mark() -> None:
    """Whatever is started from now on."""
    os.environ[MARK] = uuid.uuid4().hex


def end() -> None:
    """As by a Ctrl-C, which is what lets PostgreSQL and Kafka write what they have to."""
    found = [process for process in psutil.process_iter() if _is_marked(process)]
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT)
    _, left = psutil.wait_procs(found, PATIENCE)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, PATIENCE)


def _is_marked(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == os.environ[MARK]
    return False
