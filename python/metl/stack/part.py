"""A part of the local stack. To add a part, add such a class."""

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from metl import config
from metl.home import Home
from metl.stack.daemon import Daemon
from metl.util.urls import without_password

Say = Callable[[str], None]


class Part(ABC):
    name: ClassVar[str]
    #: Where clients look for it.
    server: ClassVar[config.Server]
    #: Parts without which it does not start.
    needs: ClassVar[tuple[str, ...]] = ()
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.path / self.name
        self.daemon = Daemon(self.folder)

    @property
    def is_elsewhere(self) -> bool:
        return self.server.is_elsewhere(self.home)

    @property
    def address(self) -> str:
        return self.server.address(self.home)

    @property
    def port(self) -> int:
        return self.home.port(self.name)

    @property
    def local_address(self) -> str:
        return self.server.local(self.home)

    def require(self) -> None:  # noqa: B027, most parts bring what they need
        """Raises if this machine lacks something, before anything is started."""

    @abstractmethod
    async def prepare(self, say: Say) -> None:
        """Creates what the process needs, at every start: idempotent and fast."""

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """The process to start. Without secrets: everybody on the machine can read it."""

    def launcher(self) -> Sequence[str]:
        """A program that sets something up and then execs the command."""
        return ()

    @abstractmethod
    def check(self) -> None:
        """Returns if it answers at its address; otherwise raises the reason."""

    async def initialize(self) -> None:  # noqa: B027, most parts have nothing to do here
        """Called once it answers, at every start: idempotent."""

    def shown_address(self) -> str:
        """The address without its password."""
        return without_password(self.address)
