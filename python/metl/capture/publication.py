"""What a connector needs in the source database: a publication, which METL makes, and a replication slot, which
Debezium makes.

Debezium could make publications, too. But it never sets publish_via_partition_root on one that is there, and after
somebody dropped one it would make it anew at its next start without a word about the changes that were lost.
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
    """Makes the publication, or adds to it what it lacks; returns what it did. Nothing is ever taken out of it here."""
    name, listed = sql.Identifier(publication), sql.SQL(", ").join(map(identifier, tables))
    done = []
    with _explained(publication):
        found = connection.execute(PUBLICATION, [publication]).fetchone()
        if found is None:
            make = "create publication {} for table {} with (publish_via_partition_root = true)"
            connection.execute(sql.SQL(make).format(name, listed))
            done.append(f"made publication {publication}")
        else:
            via_root, all_tables = found
            if not via_root:
                alter = "alter publication {} set (publish_via_partition_root = true)"
                connection.execute(sql.SQL(alter).format(name))
                done.append(f"publication {publication} publishes changes of partitions as changes of their table")
            missing = [] if all_tables else [each for each in tables if each not in published(connection, publication)]
            for each in missing:
                connection.execute(sql.SQL("alter publication {} add table {}").format(name, identifier(each)))
                done.append(f"added {each} to publication {publication}")
        connection.commit()
    return done


def unpublish(connection: psycopg.Connection, publication: str, tables: Sequence[str]) -> None:
    """Takes tables out of the publication, those that are in it."""
    with _explained(publication):
        for each in set(tables) & published(connection, publication):
            drop = "alter publication {} drop table {}"
            connection.execute(sql.SQL(drop).format(sql.Identifier(publication), identifier(each)))
        connection.commit()


def has_publication(connection: psycopg.Connection, publication: str) -> bool:
    return connection.execute(PUBLICATION, [publication]).fetchone() is not None


def published(connection: psycopg.Connection, publication: str) -> set[str]:
    return {name for (name,) in connection.execute(PUBLISHED, [publication])}


def drop_publication(connection: psycopg.Connection, publication: str) -> None:
    with _explained(publication):
        connection.execute(sql.SQL("drop publication if exists {}").format(sql.Identifier(publication)))
        connection.commit()


def drop_slot(connection: psycopg.Connection, slot: str) -> None:
    """A deleted connector leaves its slot behind, which would keep the server's WAL for ever."""
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
def _explained(publication: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        said = (error.diag.message_primary or str(error)).strip()
        raise MetlError(f"The source does not change publication {publication}: {said}.") from None
