"""Where the tests get real parts from, in this order:

1. an address in the environment (METL_DSN, METL_KAFKA, METL_REGISTRY, METL_CONNECT),
2. docker-compose.yml through testcontainers, where a Docker engine answers,
3. the local stack in a temporary METL_HOME.
"""

import contextlib
import os
import secrets
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import docker
import psycopg
from psycopg.conninfo import conninfo_to_dict
from testcontainers.compose import DockerCompose

from metl import config
from metl.home import SPARE_PORTS, Home, free_port
from metl.stack import KINDS, parts, supervisor
from metl.stack.postgres import ADMIN, Postgres

ROOT = Path(__file__).parents[1]
VARIABLES = {kind.name: kind.server.variable for kind in KINDS}


class Source(ABC):
    """Starts a part when it is first asked for."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}

    def address(self, name: str) -> str:
        if name not in self._addresses:
            self._addresses[name] = os.environ.get(VARIABLES[name]) or self.start(name)
        return self._addresses[name]

    @abstractmethod
    def start(self, name: str) -> str: ...

    @abstractmethod
    def close(self) -> None: ...

    def seen_by_connect(self, name: str) -> tuple[str, int]:
        """Host and port under which Kafka Connect reaches a part."""
        if name == "postgres":
            server = conninfo_to_dict(self.address(name))
            return str(server["host"]), int(str(server["port"]))
        url = urlsplit(self.address(name))
        assert url.hostname and url.port
        return url.hostname, url.port

    def password_for_connect(self) -> str:
        """What a connector's settings hold as the owner's password."""
        return str(conninfo_to_dict(self.address("postgres"))["password"])


class Local(Source):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.home = Home(folder)

    def start(self, name: str) -> str:
        wanted = parts(self.home, (name,))
        supervisor.up(self.home, wanted, lambda part, text: None)
        if name == "postgres":
            _skip_syncing(Postgres(self.home))
        return next(part.address for part in wanted if part.name == name)

    def close(self) -> None:
        supervisor.down(self.home, parts(self.home), lambda part, text: None)

    def password_for_connect(self) -> str:
        if VARIABLES["postgres"] in os.environ:
            return super().password_for_connect()
        return f"${{file:{self.home.connect_passwords_file}:metl_owner}}"


def _skip_syncing(server: Postgres) -> None:
    """A server of an hour has nothing that must survive its machine, and hundreds of databases are made in it."""
    with psycopg.connect(server.dsn(ADMIN, ADMIN), autocommit=True) as admin:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            admin.execute(f"alter system set {setting} = off".encode())
        admin.execute("select pg_reload_conf()")


class Containers(Source):
    def __init__(self, plugins: Path) -> None:
        super().__init__()
        self._password = secrets.token_urlsafe(24)
        self._ports: dict[str, int] = {}
        for name in VARIABLES:
            taken = {str(port) for port in self._ports.values()}
            self._ports[name] = free_port(SPARE_PORTS[0], taken, config.port_range())
        # The variables of docker-compose.yml, which compose reads from our environment.
        os.environ.update({f"METL_{name.upper()}_PORT": str(port) for name, port in self._ports.items()})
        os.environ.update(METL_PASSWORD=self._password, METL_PLUGINS=str(plugins))

    def start(self, name: str) -> str:
        DockerCompose(ROOT, services=[name], wait=True).start()
        os.environ[VARIABLES[name]] = address = self._address(name)
        _await_answer(name)
        return address

    def _address(self, name: str) -> str:
        where = f"127.0.0.1:{self._ports[name]}"
        if name == "postgres":
            return f"postgresql://metl_owner:{self._password}@{where}/metl"
        return where if name == "kafka" else f"http://{where}"

    def close(self) -> None:
        DockerCompose(ROOT).stop()

    def password_for_connect(self) -> str:
        return "${dir:/run/secrets:metl_password}"

    def seen_by_connect(self, name: str) -> tuple[str, int]:
        return name, {"postgres": 5432, "kafka": 19092, "registry": 8080}[name]


def _await_answer(name: str) -> None:
    """Not every image has a health check, so METL's own tells."""
    [kind] = [kind for kind in KINDS if kind.name == name]
    part = kind(Home(Path("unused")))
    end = time.monotonic() + 120
    while True:
        try:
            return part.check()
        except Exception:
            if time.monotonic() > end:
                raise
        time.sleep(0.5)


def docker_answers() -> bool:
    try:
        docker.from_env(timeout=5).ping()
        return subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    except (OSError, docker.errors.DockerException):
        return False


@contextlib.contextmanager
def source(folder: Path) -> Iterator[Source]:
    chosen: Source
    if docker_answers():
        plugins = folder / "plugins"
        fetch = [sys.executable, "-m", "metl", "stack", "fetch", "debezium", "converter", "--to", str(plugins)]
        subprocess.run(fetch, check=True)
        chosen = Containers(plugins)
    else:
        chosen = Local(folder / "home")
    try:
        yield chosen
    finally:
        chosen.close()
