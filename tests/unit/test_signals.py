"""Signals at any moment: nothing on stderr, no clean-up left undone."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from metl.util import signals


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Pytest goes on after what would end a program."""
    before = {number: signal.getsignal(number) for number in signals.TERMINATION}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def wait() -> None:
    await asyncio.sleep(30)


def test_the_first_signal_cancels() -> None:
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    began = time.monotonic()
    with signals.interruptible() as interruption, pytest.raises(asyncio.CancelledError):
        interruption.run(wait)
    assert interruption.happened and time.monotonic() - began < 10


def test_a_signal_before_the_start_is_not_lost() -> None:
    with signals.interruptible() as interruption:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(asyncio.CancelledError):
            interruption.run(wait)


def test_no_signal_is_no_interruption() -> None:
    async def answer() -> int:
        return 42

    with signals.interruptible() as interruption:
        assert interruption.run(answer) == 42
    assert not interruption.happened


def test_signals_at_every_moment_of_an_event_loop() -> None:
    """Also while it closes, where its own handlers would say that they cannot write to its socket."""
    over = threading.Event()

    def rain() -> None:
        while not over.wait(0.0002):
            os.kill(os.getpid(), signal.SIGTERM)

    cleaned_up = 0
    with signals.shielded():
        thread = threading.Thread(target=rain)
        thread.start()
        try:
            for _ in range(200):
                with signals.interruptible() as interruption:
                    with pytest.raises(asyncio.CancelledError):
                        interruption.run(wait)
                    time.sleep(0.001)
                    cleaned_up += interruption.happened
        finally:
            over.set()
            thread.join()
    assert cleaned_up == 200


def test_whoever_is_interrupted_is_not_interrupted_again() -> None:
    with pytest.raises(KeyboardInterrupt), signals.all_interrupt():
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
