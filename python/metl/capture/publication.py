"""What Debezium leaves in the source database: a publication and a replication slot."""

import time
from collections.abc import Iterable

import psycopg

from metl.capture.settings import slot_name
from metl.errors import PartFailed

PUBLISHED_TIMEOUT = 60.0
SLOT_TIMEOUT = 30.0


def await_published(connection: psycopg.Connection, prefix: str, tables: Iterable[str]) -> None:
    """Until changes of the tables are logged for the connector: one that was changed starts again by itself, later."""
    end = time.monotonic() + PUBLISHED_TIMEOUT
    published = "select schemaname || '.' || tablename from pg_publication_tables where pubname = %s"
    wanted = set(tables)
    while missing := wanted - {name for (name,) in connection.execute(published, [slot_name(prefix)])}:
        connection.rollback()
        if time.monotonic() > end:
            raise PartFailed(f"Connector {prefix} does not read {sorted(missing)[0]} after {PUBLISHED_TIMEOUT:.0f} s.")
        time.sleep(0.1)


def drop_slot(dsn: str, prefix: str) -> None:
    """A deleted connector leaves its slot behind, which would keep the server's change log for ever."""
    end = time.monotonic() + SLOT_TIMEOUT
    with psycopg.connect(dsn, autocommit=True) as connection:
        while True:
            try:
                connection.execute(
                    "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s",
                    [slot_name(prefix)],
                )
                return
            except psycopg.errors.ObjectInUse as error:
                if time.monotonic() > end:
                    raise PartFailed(f"Slot {slot_name(prefix)} is still in use: {error}") from None
            time.sleep(0.2)
