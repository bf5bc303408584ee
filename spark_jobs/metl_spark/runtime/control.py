"""The job's connection to the database: it holds the job's lock, records progress and learns of requests to stop."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from metl import config
from metl.db.connection import connect
from metl.errors import BadInput, MetlError
from metl.util import signals
from metl_spark.runtime.settings import JobSettings

OBJECT_IN_USE = "55006"
CONNECTORS = """
select connector, array(select prefix || '.' || captured from unnest(tables) as captured), problem, way_out
from metl.connectors
where reported_at > clock_timestamp() - interval '1 minute'
"""
TIMEOUT = 30
# A network that drops packets silently must not block a job for long.
CONNECTION_OPTIONS = {
    "connect_timeout": TIMEOUT,
    "keepalives_idle": TIMEOUT,
    "tcp_user_timeout": TIMEOUT * 1000,
}


class Superseded(MetlError):
    """Another instance of this job has taken over."""


class Control:
    def __init__(self, dsn: str, settings: JobSettings, instance: str) -> None:
        self._dsn = dsn
        self._settings = settings
        self._instance = instance
        self._connection: psycopg.Connection | None = None
        self._pending: list[tuple[int, dict[str, Any]]] = []
        self._reported: tuple[str, str | None] = ("starting", None)
        self._variable = config.job_variable()
        self.jdbc: dict[str, str] = {}

    @classmethod
    @contextlib.contextmanager
    def open(cls, settings: JobSettings, instance: str, *, needs_marts: bool = True) -> Iterator["Control"]:
        """Takes the job's lock; refuses to start where the job cannot work."""
        _require_writable(settings)
        control = cls(config.job_dsn(), settings, instance)
        control._connect()
        try:
            if needs_marts:
                control._require_marts()
            yield control
        except BaseException as error:
            # A second Ctrl-C must not leave a job behind that seems to start for ever.
            with signals.shielded():
                control._report_end(error)
            raise
        finally:
            control.close()

    def new_connection(self) -> psycopg.Connection:
        """A second connection, for statements that take long: the first one has to answer heartbeats."""
        connection = connect(self._dsn, self._variable, **CONNECTION_OPTIONS)
        connection.autocommit = True
        return connection

    def report(self, status: str, reason: str | None = None) -> None:
        self._reported = (status, reason)
        self._execute("select metl.report_job(%s, %s, %s, %s)", (self._settings.job, self._instance, status, reason))

    def _report_end(self, error: BaseException) -> None:
        """Unless the job has reported its end already."""
        if self._reported[0] not in ("starting", "running", "retrying"):
            return
        if isinstance(error, KeyboardInterrupt):
            status, reason = "stopped", "It was interrupted."
        else:
            status = "failed"
            reason = str(error) if isinstance(error, MetlError) else f"It ended by {type(error).__name__}."
        with contextlib.suppress(MetlError):
            self.report(status, reason)

    def record(self, batch: int, progress: dict[str, Any]) -> None:
        """Queues what a batch did; heartbeats send it, until the database has taken it."""
        self._pending.append((batch, progress))

    def request_stop(self) -> bool:
        """Makes the next batch refuse to begin; false if the database is unreachable."""
        return self._execute("select metl.stop_job(%s)", (self._settings.job,)) is not None

    def heartbeat(self) -> bool:
        """Reconnects if need be and sends what is queued. Whether the job is requested to stop."""
        if self._connection is None or self._connection.closed:
            try:
                self._connect()
            except Superseded:
                raise
            except MetlError:
                return False
            self.report(*self._reported)
        while self._pending:
            batch, progress = self._pending[0]
            arguments = (self._settings.job, self._instance, batch, json.dumps(progress))
            if not self._execute("select metl.record_batch(%s, %s, %s, %s)", arguments):
                return False
            self._pending.pop(0)
        row = self._execute("select status = 'stopping' from metl.jobs where job = %s", (self._settings.job,))
        return bool(row and row[0][0])

    def connectors(self) -> list[tuple[str, list[str], str | None, str | None]]:
        """Each connector checked in the last minute: its topics, its problem and the way out."""
        try:
            return self._execute(CONNECTORS, ()) or []
        except MetlError:
            # The database is of an older release, which does not hinder a job.
            return []

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _connect(self) -> None:
        self.close()
        connection = connect(self._dsn, self._variable, **CONNECTION_OPTIONS)
        connection.autocommit = True
        connection.execute(f"set statement_timeout = '{TIMEOUT}s'")
        about = json.dumps({**self._settings.about, "pid": os.getpid()})
        try:
            connection.execute(
                "select metl.start_job(%s, %s, %s, %s)",
                (self._settings.job, self._settings.checkpoint_name, self._instance, about),
            )
        except psycopg.Error as error:
            connection.close()
            if self._instance in (error.diag.message_detail or "") and "superseded" not in str(error):
                raise MetlError("The server still holds this job's earlier connection.") from None
            raise _explained(error) from None
        self._connection = connection
        self.jdbc = jdbc(connection)

    def _require_marts(self) -> None:
        assert self._connection is not None
        try:
            self._connection.execute("select 1 from metl_marts.dcpm limit 0")
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            raise BadInput("There is no metl_marts.dcpm yet. Make it with: metl marts build") from None
        except psycopg.errors.InsufficientPrivilege:
            raise BadInput(
                f"{self._connection.info.user} may not read metl_marts.dcpm. Make it a member of metl_job."
            ) from None

    def _execute(self, statement: str, arguments: tuple[object, ...]) -> list[Any] | None:
        """The rows, or null if the database is unreachable."""
        if self._connection is None or self._connection.closed:
            return None
        try:
            return self._connection.execute(statement.encode(), arguments).fetchall()
        except psycopg.OperationalError:
            self._connection.close()
            return None
        except psycopg.Error as error:
            raise _explained(error) from None


def _require_writable(settings: JobSettings) -> None:
    folder = settings.local_checkpoint
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise BadInput(f"--checkpoint {settings.checkpoint} cannot be written to: {error.strerror}.") from None


def _explained(error: psycopg.Error) -> MetlError:
    message = error.diag.message_primary or str(error)
    if error.sqlstate == OBJECT_IN_USE:
        return Superseded(" ".join(filter(None, (message, error.diag.message_detail, error.diag.message_hint))))
    if isinstance(error, psycopg.errors.InvalidSchemaName | psycopg.errors.UndefinedFunction):
        return BadInput("The database has no METL of this release. Run: metl install")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return BadInput(f"The job's role may not do this: {message}. Make it a member of metl_job.")
    return MetlError(f"The database refused: {message}.")


def jdbc(connection: psycopg.Connection) -> dict[str, str]:
    """Options for Spark to reach the same database. The password is an option of its own: Spark prints URLs."""
    info = connection.info
    if info.host.startswith("/"):
        raise BadInput(
            f"Spark reads the matrix over TCP, not through the socket in {info.host}. Give a host and a port."
        )
    host = f"[{info.host}]" if ":" in info.host else info.host
    given = conninfo_to_dict(info.dsn)
    tls = {name: str(given[name]) for name in ("sslmode", "sslrootcert", "sslcert", "sslkey") if name in given}
    return {
        "url": f"jdbc:postgresql://{host}:{info.port}/{quote(info.dbname, safe='')}",
        "user": info.user,
        "password": info.password,
        "loginTimeout": str(TIMEOUT),
        "socketTimeout": str(2 * TIMEOUT),
        **tls,
    }
