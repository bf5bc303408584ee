"""Somebody at a terminal, who is asked and sees how far it is."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable

from tests.model.conftest import Model
from tests.model.test_cdm import AFTER, feed

TIMEOUT = 60.0


class Terminal:
    """A command of METL on a terminal of its own."""

    def __init__(self, model: Model, *words: str) -> None:
        self.shown = ""
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "metl", *words],
            env={**os.environ, "METL_DSN": model.steward, "TERM": "xterm", "COLUMNS": "100"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def await_text(self, text: str) -> None:
        self._read(lambda: text in self.shown)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        self._read(lambda: False)
        os.close(self._ours)
        return self._process.wait(TIMEOUT)

    def _read(self, is_enough: Callable[[], bool]) -> None:
        """Until then, or until it is gone, when Linux says that there is no terminal any more."""
        end = time.monotonic() + TIMEOUT
        with contextlib.suppress(OSError):
            while not is_enough():
                assert time.monotonic() < end, self.shown
                if select.select([self._ours], [], [], 0.2)[0]:
                    self.shown += os.read(self._ours, 65536).decode(errors="replace").replace("\r\n", "\n")


def test_losses_are_shown_and_asked_for(model: Model) -> None:
    feed(model)
    before = model.state()
    terminal = Terminal(model, "entities", "apply", "--no-publish", model.file(AFTER))
    terminal.await_text("5 cells will be lost. Go on? [y/N]: ")
    assert "version 1 → 2" in re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown)
    terminal.type("n\n")
    assert terminal.end() == 2
    assert "Nothing was done." in terminal.shown
    assert model.state() == before


def test_nothing_is_lost_that_was_not_shown(model: Model) -> None:
    """Between the question and the answer somebody else maps one more cell, which would be lost too."""
    feed(model)
    terminal = Terminal(model, "entities", "apply", "--no-publish", model.file(AFTER))
    terminal.await_text("5 cells will be lost. Go on? [y/N]: ")
    model.call("set_block", "bank", 7, "person", 1, {"number": "id", "fax": "fax", "born": "birthday"})
    before = model.state()
    terminal.type("y\n")
    assert terminal.end() == 1
    assert "Nothing was changed: somebody else changed METL or the files meanwhile. Run it again." in terminal.shown
    assert model.state() == before


def test_a_large_file_has_a_progress_bar(model: Model) -> None:
    line = "shop,1,id,person,1,number\n"
    header = "schema,version,attribute,entity,entity_version,entity_attribute\n"
    terminal = Terminal(model, "matrix", "import", model.file(header + line * 10_000, "large.csv"))
    assert terminal.end() == 2
    assert "Reading lines" in terminal.shown and "Setting 10,000 lines" in terminal.shown
    assert "20,000 things are wrong, so that nothing was changed." in terminal.shown
    assert "large.csv:2: There is no schema 'shop'." in terminal.shown
    assert "and 19,980 more, which --json lists" in terminal.shown
