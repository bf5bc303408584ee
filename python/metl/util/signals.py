"""SIGINT, SIGTERM and SIGHUP: Ctrl-C, a polite kill, a closed terminal."""

import asyncio
import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

TERMINATION = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def all_interrupt() -> Iterator[None]:
    """All of them raise KeyboardInterrupt, so that one clean-up serves them all."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled_by(interrupt):
        yield


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """For cleaning up, which a second Ctrl-C must not interrupt."""
    with _handled_by(signal.SIG_IGN):
        yield


def ignore() -> None:
    """For the end of a program."""
    for number in TERMINATION:
        signal.signal(number, signal.SIG_IGN)


class Interruption:
    """The first signal cancels what `run` runs; further ones do nothing, so that cleaning up is undisturbed.

    Not by the event loop's own signal handlers: a loop that ends closes the socket that they write to before it takes
    them away, and leaves the defaults behind, of which one ends the process.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._cancel: Callable[[], object] = lambda: None

    @property
    def happened(self) -> bool:
        return self._number is not None

    def run(self, job: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        return asyncio.run(self._run(job))

    async def _run(self, job: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._cancel = functools.partial(loop.call_soon_threadsafe, task.cancel)
        try:
            if self.happened:
                raise asyncio.CancelledError
            return await job()
        finally:
            self._cancel = lambda: None

    def note(self, number: int, _frame: FrameType | None) -> None:
        if not self.happened:
            self._number = number
            self._cancel()


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """A signal interrupts only what the interruption runs, and only once."""
    interruption = Interruption()
    with restored():
        for number in TERMINATION:
            signal.signal(number, interruption.note)
        yield interruption


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Restores the handlers, except after an interruption: the program ends and is not interrupted again."""
    before = {number: signal.getsignal(number) for number in TERMINATION}
    try:
        yield
    except KeyboardInterrupt:
        ignore()
        raise
    except BaseException:
        _restore(before)
        raise
    _restore(before)


def _restore(before: dict[signal.Signals, Any]) -> None:
    for number, earlier in before.items():
        signal.signal(number, earlier)


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        # Python lets only the main thread handle signals.
        yield
        return
    with restored():
        for number in TERMINATION:
            signal.signal(number, handler)
        yield
