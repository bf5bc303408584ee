"""Syncs pass after pass, for weeks; retries while the registry or the database is down."""

import threading
import time
from collections.abc import Callable

from metl.db.connection import autocommit
from metl.errors import MetlError
from metl.registry.store import RegistryStore
from metl.registry.sync import Sync
from metl.util.http import Aborted

INTERVAL = 1.0
#: The longest pause after failures.
LONGEST_PAUSE = 5.0
#: Failed versions are retried, and everything is listed, at these intervals.
RETRY_INTERVAL = 30.0
FULL_INTERVAL = 3600.0


class Watch:
    def __init__(
        self,
        dsn: str,
        prepare: Callable[[RegistryStore], Sync],
        name: str,
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        """`prepare` makes a sync on a connection; `say` gets messages that are no event of the registry."""
        self._dsn = dsn
        self._prepare = prepare
        self._name = name
        self._stop = stop
        self._say = say
        self._last_error: str | None = None
        self._is_watching: bool | None = None
        self._last_retry = self._last_full = time.monotonic()

    def run(self) -> None:
        pause = INTERVAL
        while not self._stop.is_set():
            try:
                with autocommit(self._dsn) as connection:
                    self._watch(RegistryStore(connection, self._name))
                pause = INTERVAL
            except Aborted:
                return
            except MetlError as error:
                self._report(str(error))
                self._stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _watch(self, store: RegistryStore) -> None:
        """Returns when stopped; raises what ends the connection."""
        sync = self._prepare(store)
        lock = f"watch {','.join(sorted(sync.groups))}"
        while not store.try_lock(lock):
            if self._is_watching is not False:
                self._say(f"{store.lock_holder(lock)} watches already. Standing by.")
                self._is_watching = False
            if self._stop.wait(INTERVAL):
                return
        if not self._is_watching:
            self._say("Watching. Ctrl-C ends it.")
            self._is_watching = True
        failures = 0
        while not self._stop.is_set():
            began = time.monotonic()
            # Skip a pass while `metl sync` runs one.
            if store.try_lock("pass"):
                try:
                    self._pass(sync)
                    failures = 0
                except MetlError as error:
                    failures += 1
                    # Versions failed because of the registry: retry them as soon as it answers.
                    self._last_retry = -RETRY_INTERVAL
                    self._report(str(error))
                finally:
                    store.unlock("pass")
            pause = min(INTERVAL * 2**failures, LONGEST_PAUSE) if failures else INTERVAL
            self._stop.wait(max(0.1, pause - (time.monotonic() - began)))

    def _pass(self, sync: Sync) -> None:
        now = time.monotonic()
        retry, full = now - self._last_retry > RETRY_INTERVAL, now - self._last_full > FULL_INTERVAL
        self._last_retry = now if retry else self._last_retry
        sync.run(full=full, retry=retry)
        self._last_full = now if full else self._last_full
        if self._last_error:
            self._say("All is well again.")
            self._last_error = None

    def _report(self, error: str) -> None:
        """Once, not at every pass."""
        if error != self._last_error:
            self._say(error)
            self._last_error = error
