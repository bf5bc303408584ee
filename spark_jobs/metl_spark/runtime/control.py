"""A mapper's line to the database: it holds the job's lock, reports how it goes and hears that it shall stop."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from metl import config
from metl.db.connection import connect
from metl.errors import BadInput, MetlError
from metl.util import signals
from metl_spark.runtime.settings import Settings

IN_USE = "55006"
CONNECTORS = """
select connector, array(select prefix || '.' || captured from unnest(tables) as captured), problem, way_out
from metl.connectors
where reported_at > clock_timestamp() - interval '1 minute'
"""
TIMEOUT = 30
# A network that drops packets without a word must not hold a job up for long.
LINE = {"connect_timeout": TIMEOUT, "keepalives_idle": TIMEOUT, "tcp_user_timeout": TIMEOUT * 1000}


class Superseded(MetlError):
    """Another instance of this job has taken over."""


class Control:
    def __init__(self, dsn: str, settings: Settings, instance: str) -> None:
        self._dsn = dsn
        self._settings = settings
        self._instance = instance
        self._connection: psycopg.Connection | None = None
        self._unsent: list[tuple[int, dict[str, Any]]] = []
        self._reported: tuple[str, str | None] = ("starting", None)
        self._variable = config.job_variable()
        self.jdbc: dict[str, str] = {}

    @classmethod
    @contextlib.contextmanager
    def open(cls, settings: Settings, instance: str, *, needs_marts: bool = True) -> Iterator["Control"]:
        """Refuses to start where the job cannot work."""
        _require_folder(settings)
        control = cls(config.job_dsn(), settings, instance)
        control._connect()
        try:
            if needs_marts:
                control._require_marts()
            yield control
        except BaseException as error:
            # Whoever is in a hurry must not leave a job behind that seems to start for ever.
            with signals.undisturbed():
                control._end(error)
            raise
        finally:
            control.close()

    def another_line(self) -> psycopg.Connection:
        """For work that takes its time, while the first one listens."""
        connection = connect(self._dsn, self._variable, **LINE)
        connection.autocommit = True
        return connection

    def report(self, status: str, reason: str | None = None) -> None:
        self._reported = (status, reason)
        self._try("select metl.report_job(%s, %s, %s, %s)", (self._settings.job, self._instance, status, reason))

    def _end(self, error: BaseException) -> None:
        """Unless it has told already how it ended."""
        if self._reported[0] not in ("starting", "running", "retrying"):
            return
        is_told = isinstance(error, KeyboardInterrupt)
        reason = str(error) if isinstance(error, MetlError) else f"It ended by {type(error).__name__}."
        with contextlib.suppress(MetlError):
            self.report(*(("stopped", "It was interrupted.") if is_told else ("failed", reason)))

    def record(self, batch: int, progress: dict[str, Any]) -> None:
        """Kept until the database takes it."""
        self._unsent.append((batch, progress))

    def request_stop(self) -> bool:
        """The next batch will refuse to begin; false if the database could not be told."""
        return self._try("select metl.stop_job(%s)", (self._settings.job,)) is not None

    def tend(self) -> bool:
        """Comes back after the database did, and sends what waits. Whether somebody asks the job to stop."""
        if self._connection is None or self._connection.closed:
            try:
                self._connect()
            except Superseded:
                raise
            except MetlError:
                return False
            self.report(*self._reported)
        while self._unsent:
            batch, progress = self._unsent[0]
            arguments = (self._settings.job, self._instance, batch, json.dumps(progress))
            if not self._try("select metl.record_batch(%s, %s, %s, %s)", arguments):
                return False
            self._unsent.pop(0)
        row = self._try("select status = 'stopping' from metl.jobs where job = %s", (self._settings.job,))
        return bool(row and row[0][0])

    def connectors(self) -> list[tuple[str, list[str], str | None, str | None]]:
        """Each that somebody has looked at in the last minute: its topics, what is wrong with it and the way out."""
        try:
            return self._try(CONNECTORS, ()) or []
        except MetlError:
            # The database is of an older release, which does not hinder a job.
            return []

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _connect(self) -> None:
        self.close()
        connection = connect(self._dsn, self._variable, **LINE)
        connection.autocommit = True
        connection.execute(f"set statement_timeout = '{TIMEOUT}s'")
        about = {
            "topics": self._settings.topics,
            "replays": self._settings.replays,
            "trigger": self._settings.trigger,
            "pid": os.getpid(),
            # For its next start, which is to go on with the same.
            "limits": asdict(self._settings.limits) if self._settings.limits else None,
        }
        try:
            connection.execute(
                "select metl.start_job(%s, %s, %s, %s)",
                (self._settings.job, self._settings.checkpoint_name, self._instance, json.dumps(about)),
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
            raise BadInput("There is no metl_marts.dcpm yet. Make it with: metl dbt build") from None
        except psycopg.errors.InsufficientPrivilege:
            raise BadInput(
                f"{self._connection.info.user} may not read metl_marts.dcpm. Make it a member of metl_job."
            ) from None

    def _try(self, statement: str, arguments: tuple[object, ...]) -> list[Any] | None:
        """The rows, or null if the database is away."""
        if self._connection is None or self._connection.closed:
            return None
        try:
            return self._connection.execute(statement.encode(), arguments).fetchall()
        except psycopg.OperationalError:
            self._connection.close()
            return None
        except psycopg.Error as error:
            raise _explained(error) from None


def _require_folder(settings: Settings) -> None:
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
    if error.sqlstate == IN_USE:
        return Superseded(" ".join(filter(None, (message, error.diag.message_detail, error.diag.message_hint))))
    if isinstance(error, psycopg.errors.InvalidSchemaName | psycopg.errors.UndefinedFunction):
        return BadInput("The database has no METL of this release. Run: metl install")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return BadInput(f"The job's role may not do this: {message}. Make it a member of metl_job.")
    return MetlError(f"The database refused: {message}.")


def jdbc(connection: psycopg.Connection) -> dict[str, str]:
    """The same address for Spark; the password as an option, which is never printed, and not in the URL."""
    info = connection.info
    if info.host.startswith("/"):
        raise BadInput(
            f"Spark reads the matrix over TCP, not through the socket in {info.host}. Give a host and a port."
        )
    host = f"[{info.host}]" if ":" in info.host else info.host
    said = conninfo_to_dict(info.dsn)
    secured = {name: str(said[name]) for name in ("sslmode", "sslrootcert", "sslcert", "sslkey") if name in said}
    return {
        "url": f"jdbc:postgresql://{host}:{info.port}/{quote(info.dbname, safe='')}",
        "user": info.user,
        "password": info.password,
        "loginTimeout": str(TIMEOUT),
        "socketTimeout": str(2 * TIMEOUT),
        **secured,
    }
