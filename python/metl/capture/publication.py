"""A connector's publication, which METL creates in the source database, and its replication slot, which Debezium
creates.

Debezium could create publications, too. But it never sets publish_via_partition_root on an existing one, and it would
silently recreate a dropped one at its next start, although changes were lost.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence

import psycopg
from psycopg import sql

from metl.capture.tables import identifier
from metl.errors import MetlError, PartFailed

SLOT_TIMEOUT = 30.0
PUBLICATION = "select pubviaroot, puballtables from pg_publication where pubname = %s"
PUBLISHED = """
select schemaname || '.' || tablename from pg_publication_tables where pubname = %s
"""


def publish(connection: psycopg.Connection, publication: str, tables: Sequence[str]) -> list[str]:
    """Creates the publication or adds missing tables; returns a sentence for each change. Drops no table from it."""
    name, listed = sql.Identifier(publication), sql.SQL(", ").join(map(identifier, tables))
    actions = []
    with _translate_errors(publication):
        row = connection.execute(PUBLICATION, [publication]).fetchone()
        if row is None:
            create = "create publication {} for table {} with (publish_via_partition_root = true)"
            connection.execute(sql.SQL(create).format(name, listed))
            actions.append(f"created publication {publication}")
        else:
            via_root, all_tables = row
            if not via_root:
                alter = "alter publication {} set (publish_via_partition_root = true)"
                connection.execute(sql.SQL(alter).format(name))
                actions.append(f"publication {publication} publishes changes of partitions as changes of their table")
            existing = published_tables(connection, publication)
            for each in () if all_tables else (table for table in tables if table not in existing):
                connection.execute(sql.SQL("alter publication {} add table {}").format(name, identifier(each)))
                actions.append(f"added {each} to publication {publication}")
        connection.commit()
    return actions


def unpublish(connection: psycopg.Connection, publication: str, tables: Sequence[str]) -> None:
    """Drops those of the tables that are in the publication from it."""
    with _translate_errors(publication):
        for each in set(tables) & published_tables(connection, publication):
            drop = "alter publication {} drop table {}"
            connection.execute(sql.SQL(drop).format(sql.Identifier(publication), identifier(each)))
        connection.commit()


def has_publication(connection: psycopg.Connection, publication: str) -> bool:
    return connection.execute(PUBLICATION, [publication]).fetchone() is not None


def published_tables(connection: psycopg.Connection, publication: str) -> set[str]:
    return {name for (name,) in connection.execute(PUBLISHED, [publication])}


def drop_publication(connection: psycopg.Connection, publication: str) -> None:
    with _translate_errors(publication):
        connection.execute(sql.SQL("drop publication if exists {}").format(sql.Identifier(publication)))
        connection.commit()


def drop_slot(connection: psycopg.Connection, slot: str) -> None:
    """Deleting a connector does not drop its slot, which would retain WAL for ever."""
    end = time.monotonic() + SLOT_TIMEOUT
    while True:
        try:
            connection.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s", [slot]
            )
            connection.commit()
            return
        except psycopg.errors.ObjectInUse as error:
            connection.rollback()
            if time.monotonic() > end:
                raise PartFailed(f"Slot {slot} is still in use: {error}") from None
        time.sleep(0.2)


@contextlib.contextmanager
def _translate_errors(publication: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        message = (error.diag.message_primary or str(error)).strip()
        raise MetlError(f"The source does not change publication {publication}: {message}.") from None
