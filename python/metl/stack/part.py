"""What a part of the stack has to say about itself. Adding a part is adding one such class."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from metl.home import Home
from metl.stack.daemon import Daemon
from metl.util import rest

Say = Callable[[str], None]


class Part(ABC):
    name: ClassVar[str]
    #: The environment variable with the address of one that runs elsewhere.
    variable: ClassVar[str]
    #: The ports it takes when they are free, its own first; docker-compose.yml publishes that one too.
    preferred_ports: ClassVar[dict[str, int]]
    #: Parts without which it does not start.
    needs: ClassVar[tuple[str, ...]] = ()
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.path / self.name
        self.daemon = Daemon(self.folder)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the environment names another one. `eval "$(metl env)"` names this one, which is none."""
        given = os.environ.get(self.variable)
        return bool(given) and given != self.local_address

    @property
    def address(self) -> str:
        """Where clients find it: as given by the environment, or else here."""
        return (os.environ.get(self.variable) or self.local_address).rstrip("/")

    @property
    def port(self) -> int:
        return self.home.port(self.name)

    def choose_ports(self) -> None:
        for name, preferred in self.preferred_ports.items():
            self.home.choose_port(name, preferred)

    @property
    @abstractmethod
    def local_address(self) -> str: ...

    def require(self) -> None:  # noqa: B027, most parts bring what they need
        """Raises if this machine lacks something, before anything is started."""

    @abstractmethod
    async def prepare(self, say: Say) -> None:
        """Makes everything that must be there before the process starts; a second time costs little."""

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """The process to start. No secrets in here: everybody on the machine can read it."""

    def launcher(self) -> Sequence[str]:
        """A program to start it with, which sets something up and then becomes the command."""
        return ()

    @abstractmethod
    def check(self) -> None:
        """Returns when it answers at its address, raises an exception that says why not otherwise."""

    async def welcome(self) -> None:  # noqa: B027, most parts have nothing to do here
        """What is to be done once it answers; done again at every start."""

    def shown_address(self) -> str:
        """The address without its password."""
        return rest.without_password(self.address)
