"""Which database a connector reads, and what to call it."""

import psycopg
from psycopg.conninfo import make_conninfo

from metl.capture import lifecycle
from metl.capture import source as sources
from metl.cli.options import Decorator, source_option
from metl.config import database_dsn
from metl.db.connection import connect
from metl.errors import BadInput

database_option: Decorator = source_option(
    "The service's database; by default the connector's, or PREFIX on the server of METL's"
)


def connected(prefix: str, settings: dict[str, str] | None, dsn: str | None) -> psycopg.Connection:
    """To the database of a connector, whose settings are null if there is none yet."""
    if settings is None:
        given = "--source" if dsn else f"METL_DSN (for database {prefix}, as PREFIX says; --source names another)"
        return connect(dsn or make_conninfo(database_dsn(), dbname=prefix), given)
    lifecycle.require_table_list(prefix, settings)
    connection = connect(dsn, "--source") if dsn else sources.connect(settings)
    if connection.info.dbname != settings.get("database.dbname"):
        raise BadInput(
            f"Connector {prefix} reads database {settings.get('database.dbname')}, not {connection.info.dbname}. "
            "Choose another PREFIX for it."
        )
    return connection
