"""Starts parts at once, stops them, and shows their status.

No supervisor such as systemd or supervisord: each of them is a daemon to install and configure, and wants to own the
processes. `metl up` has to work for any user, in a container too, and to leave nothing running but the parts.
"""

import asyncio
import contextlib
import errno
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psutil

from metl import config
from metl.errors import PartFailed
from metl.home import Home, is_free
from metl.stack.part import Part
from metl.util import process, signals
from metl.util.aio import run_all

#: Called with the name of a part and its progress.
Report = Callable[[str, str], None]

START_TIMEOUT = 90.0
STOP_TIMEOUT = 20.0
PORT_TIMEOUT = 5.0
POLL_INTERVAL = 0.1
FULL_DISK = "No space left on device"
MIN_FREE_BYTES = 2**20


def up(home: Home, parts: Sequence[Part], report: Report) -> float:
    """Starts what does not run yet and waits until all answer; returns the seconds that took.

    If one of them fails, or the user interrupts, everything that was started here is stopped again.
    """
    began = time.monotonic()
    for part in parts:
        if not part.is_elsewhere:
            part.require()
    with home.lock(lambda text: report("metl", text)), signals.interruptible() as interruption:
        started: list[Part] = []
        try:
            interruption.run(lambda: _start_all(parts, started, report))
            if interruption.happened:
                raise KeyboardInterrupt
            seconds = time.monotonic() - began
            if len(started) == len(parts):
                (home.path / "up.json").write_text(json.dumps({"seconds": seconds}))
        except BaseException as error:
            _stop(started, report)
            if interruption.happened:
                raise KeyboardInterrupt from None
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise PartFailed(_full_disk(home)) from None
            raise
    return seconds


def down(home: Home, parts: Sequence[Part], report: Report) -> None:
    if home.path.exists():
        with home.lock(lambda text: report("metl", text)):
            _stop([part for part in parts if part.daemon.was_started()], report)


async def _start_all(parts: Sequence[Part], started: list[Part], report: Report) -> None:
    answers = {part.name: asyncio.Event() for part in parts}

    async def start(part: Part) -> None:
        await _start(part, [answers[name] for name in part.needs], started, report)
        answers[part.name].set()

    await run_all(*(start(part) for part in parts))


async def _start(part: Part, needs: Sequence[asyncio.Event], started: list[Part], report: Report) -> None:
    if part.is_elsewhere:
        report(part.name, f"runs elsewhere ({part.server.variable}), checking it")
        await _check_elsewhere(part)
        report(part.name, "answers")
        return
    child = None
    began = time.monotonic()
    if part.daemon.process() is None:
        config.choose_ports(part.home, part.server)
        await _prepare(part, report)
        for need in needs:
            await need.wait()
        await _await_free_ports(part)
        report(part.name, "starting")
        child = part.daemon.start(part.command(), launcher=part.launcher())
        started.append(part)
    await _await_answer(part, child)
    await part.initialize()
    report(part.name, f"answers after {time.monotonic() - began:.1f} s" if child else "runs already")


async def _prepare(part: Part, report: Report) -> None:
    try:
        await part.prepare(lambda text: report(part.name, text))
    except process.ToolFailed as error:
        raise PartFailed(_full_disk(part.home) if FULL_DISK in error.output else str(error)) from None


async def _check_elsewhere(part: Part) -> None:
    try:
        await asyncio.to_thread(part.check)
    except Exception as error:
        raise PartFailed(
            f"{part.name} does not answer at {part.shown_address()} ({part.server.variable}): {error}. "
            f"Correct {part.server.variable}, or unset it to use a local one."
        ) from None


async def _await_free_ports(part: Part) -> None:
    """The port of a killed part is released some moments later."""
    for name in part.server.ports:
        port = part.home.port(name)
        end = time.monotonic() + PORT_TIMEOUT
        while not is_free(port):
            if time.monotonic() > end:
                raise PartFailed(
                    f"{part.name} cannot have port {port}: {_listener(port)} uses it. {part.home.forget_port(name)}"
                )
            await asyncio.sleep(POLL_INTERVAL)


def _listener(port: int) -> str:
    with contextlib.suppress(psutil.Error):
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.pid and each.laddr and each.laddr.port == port:
                return f"{psutil.Process(each.pid).name()} (pid {each.pid})"
    return "another program"


async def _await_answer(part: Part, child: subprocess.Popen[bytes] | None) -> None:
    end = time.monotonic() + START_TIMEOUT
    while True:
        try:
            await asyncio.to_thread(part.check)
            return
        except Exception as error:
            reason = error
        if child.poll() is not None if child else part.daemon.process() is None:
            raise PartFailed(_explain_exit(part))
        if time.monotonic() > end:
            raise PartFailed(
                f"{part.name} does not answer after {START_TIMEOUT:.0f} s: {reason}. "
                f"The last lines of {part.daemon.log}:\n{part.daemon.last_lines()}"
            )
        await asyncio.sleep(POLL_INTERVAL)


def _explain_exit(part: Part) -> str:
    lines = part.daemon.last_lines()
    if FULL_DISK in lines or shutil.disk_usage(part.home.path).free < MIN_FREE_BYTES:
        return _full_disk(part.home)
    return f"{part.name} died while starting. The last lines of {part.daemon.log}:\n{lines or '(nothing)'}"


def _full_disk(home: Home) -> str:
    free = shutil.disk_usage(home.path).free // 2**20
    return (
        f"Nothing can be started because the disk that holds {home.path} is full ({free} MiB free). "
        "Free some space there or set METL_HOME to another disk, then try again."
    )


def _stop(parts: Sequence[Part], report: Report) -> None:
    """Parts that need others stop first, so that they can log off from them."""

    def stop(part: Part) -> None:
        report(part.name, "stopping")
        part.daemon.stop(part.stop_signal, STOP_TIMEOUT)
        report(part.name, "stopped")

    with ThreadPoolExecutor() as pool:
        list(pool.map(stop, [part for part in parts if part.needs]))
        list(pool.map(stop, [part for part in parts if not part.needs]))


@dataclass(frozen=True)
class Status:
    name: str
    state: str  # up, down, died, silent (runs but does not answer), elsewhere, unreachable
    address: str
    pid: int | None
    resident_bytes: int
    detail: str = ""

    @property
    def is_bad(self) -> bool:
        return self.state in ("died", "silent", "unreachable")


def status(parts: Sequence[Part]) -> list[Status]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(_status, parts))


def _status(part: Part) -> Status:
    process = part.daemon.process()
    if not part.is_elsewhere and process is None:
        died = part.daemon.was_started()
        detail = "restart it with: metl up" if died else ""
        return Status(part.name, "died" if died else "down", "", None, 0, detail)
    state, detail = ("elsewhere", "") if part.is_elsewhere else ("up", "")
    try:
        part.check()
    except Exception as error:
        state, detail = ("unreachable" if part.is_elsewhere else "silent"), str(error).strip()
    return Status(
        part.name,
        state,
        part.shown_address(),
        process.pid if process else None,
        part.daemon.resident_bytes(),
        detail,
    )


def last_up_seconds(home: Home) -> float | None:
    """How long the last `up` that started something took."""
    try:
        return float(json.loads((home.path / "up.json").read_text())["seconds"])
    except (OSError, ValueError, KeyError):
        return None
