"""What Ctrl-C, a polite kill and a closed terminal do."""

import asyncio
import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def all_interrupt() -> Iterator[None]:
    """Each of them raises KeyboardInterrupt, so that one clean-up serves them all."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled_by(interrupt):
        yield


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """For cleaning up: a second, impatient Ctrl-C must not leave half of it undone."""
    with _handled_by(signal.SIG_IGN):
        yield


def ignore() -> None:
    """For the last words of a program that was told to end."""
    for number in ENDING:
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
def noted() -> Iterator[Interruption]:
    """Nothing is interrupted in here but what the interruption runs. Whoever is interrupted is so once."""
    interruption = Interruption()
    with kept():
        for number in ENDING:
            signal.signal(number, interruption.note)
        yield interruption


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What was there before comes back, except for an interrupted program: it ends, and is not interrupted again."""
    before = {number: signal.getsignal(number) for number in ENDING}
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
    with kept():
        for number in ENDING:
            signal.signal(number, handler)
        yield
