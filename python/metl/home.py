"""METL_HOME: where the local stack keeps its data, the ports it chose and the passwords it made."""

import contextlib
import fcntl
import os
import random
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from metl.errors import BadInput

# Below the range from which systems hand out ports to outgoing connections.
SPARE_PORTS = range(20_000, 30_000)
#: Kafka or the registry would take them for the end of a path.
FORBIDDEN = ",;\\\n\r"


class Home:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.ports_file = self.path / "ports.properties"
        self.passwords_file = self.path / "passwords.properties"
        # Connectors refer to a password as ${file:<this file>:<user>} instead of holding it.
        self.connect_passwords_file = self.path / "connect" / "passwords.properties"

    def directory(self, *names: str) -> Path:
        """A folder in here, created if missing, for its owner only."""
        forbidden = set(str(self.path)) & set(FORBIDDEN)
        if forbidden:
            raise BadInput(
                f"METL_HOME={self.path} holds {' '.join(sorted(forbidden))!r}, which Kafka or the registry would take "
                "for the end of the path. Set METL_HOME to a folder without it."
            )
        try:
            # Others may enter but not list it: the PostgreSQL that root starts runs as another user, in a folder below.
            self.path.mkdir(mode=0o711, parents=True, exist_ok=True)
            folder = self.path.joinpath(*names)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                return folder
        except OSError as error:
            raise BadInput(
                f"METL_HOME={self.path} cannot be used: {error.strerror}. "
                "Set METL_HOME to a folder you can write to, on a disk with some space."
            ) from None

    @contextlib.contextmanager
    def lock(self, say: Callable[[str], None]) -> Iterator[None]:
        """Serializes `up` and `down`; the second says which process it waits for."""
        with (self.directory() / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                say(f"another metl (pid {file.read().strip() or 'unknown'}) is at work in {self.path}, waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def port(self, name: str) -> int:
        """The port that was chosen for a part; 0 if it was never started."""
        port = self._read(self.ports_file).get(name, "0")
        if not is_port(port) and port != "0":
            raise BadInput(f"{self.ports_file} says {name}={port}, which is not a port. Remove that line.")
        return int(port)

    def choose_port(self, name: str, preferred: int, *, given: int | None, within: range) -> None:
        """The given one, or else the one of last time, or else a free one; remembered."""
        ports = self._read(self.ports_file)
        chosen = given or self.port(name) or free_port(preferred, set(ports.values()), within)
        if ports.get(name) != str(chosen):
            self._write(self.ports_file, {**ports, name: str(chosen)})

    def password(self, user: str) -> str:
        passwords = self._read(self.passwords_file)
        if user not in passwords:
            passwords[user] = secrets.token_urlsafe(24)
            self._write(self.passwords_file, passwords)
        return passwords[user]

    def forget_port(self, name: str) -> str:
        """The way out when another program uses a remembered port."""
        return f"Stop that program, set METL_{name.upper()}_PORT, or remove the line {name}= from {self.ports_file}."

    def _read(self, file: Path) -> dict[str, str]:
        try:
            lines = file.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return {}
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def _write(self, file: Path, content: Mapping[str, str]) -> None:
        self.directory()
        write_private(file, "".join(f"{key}={value}\n" for key, value in content.items()))


def write_private(file: Path, text: str) -> None:
    """Replaces a file atomically; only its owner can ever read it."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(descriptor, "w") as scratch:
            scratch.write(text)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink()
        raise


def free_port(preferred: int, taken: set[str], within: range) -> int:
    """The preferred port or else a random one of a range; where the range was chosen, only one of it."""
    first = [preferred] if within is SPARE_PORTS or preferred in within else []
    candidates = [*first, *random.sample(within, min(100, len(within)))]
    for port in candidates:
        if str(port) not in taken and is_free(port):
            return port
    raise BadInput(f"None of {len(candidates)} ports tried, {candidates[0]} first, are free on 127.0.0.1.")


def is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < int(text) < 65_536


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a port whose old connections are in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
