"""Pass after pass, for weeks: whatever goes away is waited for."""

import threading
import time
from collections.abc import Callable

from metl.db.connection import autocommit
from metl.errors import MetlError
from metl.registry.store import Books
from metl.registry.sync import Sync
from metl.util.http import Aborted

EVERY = 1.0
#: The longest pause while something is away.
LONGEST_PAUSE = 5.0
#: What could not be read is tried again, and everything is looked at, now and then.
AGAIN_EVERY = 30.0
FULL_EVERY = 3600.0


class Watch:
    def __init__(
        self,
        dsn: str,
        prepare: Callable[[Books], Sync],
        name: str,
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        """`prepare` makes a pass for a connection; `say` is for what is no event of the registry."""
        self._dsn = dsn
        self._prepare = prepare
        self._name = name
        self._stop = stop
        self._say = say
        self._trouble: str | None = None
        self._is_watching: bool | None = None
        self._last_again = self._last_full = time.monotonic()

    def run(self) -> None:
        pause = EVERY
        while not self._stop.is_set():
            try:
                with autocommit(self._dsn) as connection:
                    self._go_on(Books(connection, self._name))
                pause = EVERY
            except Aborted:
                return
            except MetlError as error:
                self._tell(str(error))
                self._stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _go_on(self, books: Books) -> None:
        """Until something goes wrong."""
        sync = self._prepare(books)
        what = f"watch {','.join(sorted(sync.groups))}"
        while not books.try_lock(what):
            if self._is_watching is not False:
                self._say(f"{books.holder(what)} watches already. Standing by.")
                self._is_watching = False
            if self._stop.wait(EVERY):
                return
        if not self._is_watching:
            self._say("Watching. Ctrl-C ends it.")
            self._is_watching = True
        failures = 0
        while not self._stop.is_set():
            began = time.monotonic()
            # Somebody else may be in the middle of a pass; then it is not ours.
            if books.try_lock("pass"):
                try:
                    self._pass(sync)
                    failures = 0
                except MetlError as error:
                    failures += 1
                    # Then what could not be read is no fault of its own, and need not wait.
                    self._last_again = -AGAIN_EVERY
                    self._tell(str(error))
                finally:
                    books.unlock("pass")
            pause = min(EVERY * 2**failures, LONGEST_PAUSE) if failures else EVERY
            self._stop.wait(max(0.1, pause - (time.monotonic() - began)))

    def _pass(self, sync: Sync) -> None:
        now = time.monotonic()
        again, full = now - self._last_again > AGAIN_EVERY, now - self._last_full > FULL_EVERY
        self._last_again = now if again else self._last_again
        sync.run(full=full, again=again)
        self._last_full = now if full else self._last_full
        if self._trouble:
            self._say("All is well again.")
            self._trouble = None

    def _tell(self, trouble: str) -> None:
        """Once, not every second."""
        if trouble != self._trouble:
            self._say(trouble)
            self._trouble = trouble
