"""A connection to METL's database."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import errors
from psycopg.rows import dict_row

from metl.errors import BadInput, MetlError


def connect(dsn: str, variable: str = "METL_DSN", **options: int) -> psycopg.Connection:
    """`variable` is where the DSN comes from, named in errors."""
    try:
        return psycopg.connect(dsn, **options)  # type: ignore[arg-type]
    except psycopg.ProgrammingError:
        # psycopg's message would quote the address with its password.
        raise BadInput(f"{variable} is not an address that PostgreSQL can read.") from None
    except psycopg.Error as error:
        reason = " ".join(str(error).split()).rstrip("?.")
        raise MetlError(
            f"The database does not answer: {reason}. Is {variable} right, or the local one up (`metl up postgres`)?"
        ) from None


@contextlib.contextmanager
def snapshot(dsn: str, variable: str = "METL_DSN") -> Iterator[psycopg.Connection]:
    """Read-only; all statements see the same state."""
    with connect(dsn, variable) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with _explained(connection, "read METL", "metl_reader"):
            yield connection


@contextlib.contextmanager
def transaction(dsn: str, why: str | None = None) -> Iterator[psycopg.Connection]:
    """Commits at the end, rolls back on errors. What the matrix refuses is raised with its message and hint.

    The states that it makes carry the reason `why`.
    """
    with connect(dsn) as connection, _explained(connection, "change METL", "metl_steward"):
        if why is not None:
            connection.execute("select set_config('metl.why', %s, false)", [why])
            # The caller may still choose the isolation of its transaction.
            connection.commit()
        yield connection


def rows(
    connection: psycopg.Connection, query: LiteralString, values: Sequence[object] | Mapping[str, object] = ()
) -> list[dict[str, Any]]:
    return connection.cursor(row_factory=dict_row).execute(query, values).fetchall()


@contextlib.contextmanager
def autocommit(dsn: str) -> Iterator[psycopg.Connection]:
    """Each statement commits by itself, except inside `connection.transaction()`."""
    with connect(dsn) as connection, _explained(connection, "change METL", "metl_steward"):
        connection.autocommit = True
        yield connection


@contextlib.contextmanager
def _explained(connection: psycopg.Connection, what: str, role: str) -> Iterator[None]:
    database, user = connection.info.dbname, connection.info.user
    try:
        yield
    except (errors.InvalidSchemaName, errors.UndefinedTable, errors.UndefinedFunction):
        raise MetlError(f"Database {database} has no METL, or an older one. Run: metl install") from None
    except errors.InsufficientPrivilege:
        raise MetlError(f"{user} may not {what} in database {database}. Grant it {role}.") from None
    except errors.SerializationFailure:
        raise MetlError("Somebody else changed METL at the same moment, so nothing was done. Try again.") from None
    except psycopg.Error as error:
        if error.diag.message_hint and error.diag.context:
            # Raised by a function of METL, whose hint is the way out.
            parts = (error.diag.message_primary, error.diag.message_detail, error.diag.message_hint)
            raise BadInput(" ".join(filter(None, parts))) from None
        raise MetlError(f"Database {database} failed: {str(error).strip()}") from None
