"""What Ctrl-C, a polite kill and a closed terminal do."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

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


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """An event loop that ends leaves the defaults behind; what was there before comes back."""
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    with kept():
        for number in ENDING:
            signal.signal(number, handler)
        yield
