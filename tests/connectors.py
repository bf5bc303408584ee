"""A connector for a test, deleted afterwards with its slot and publication."""

import contextlib
from collections.abc import Iterator, Sequence

import psycopg
from psycopg.conninfo import conninfo_to_dict

from metl.capture import connectors
from metl.capture.publication import drop_publication, drop_slot, publish
from metl.capture.settings import postgres_source, slot_name
from tests.parts import Source


@contextlib.contextmanager
def capturing(parts: Source, database: str, prefix: str, tables: Sequence[str]) -> Iterator[dict[str, str]]:
    """A connector without signals; yields its settings."""
    connect = parts.address("connect")
    host, port = parts.seen_by_connect("postgres")
    settings = postgres_source(
        prefix=prefix,
        host=host,
        port=port,
        database=str(conninfo_to_dict(database)["dbname"]),
        user="metl_owner",
        password=parts.password_for_connect(),
        tables=tables,
        registry="http://{}:{}".format(*parts.seen_by_connect("registry")),
    )
    with psycopg.connect(database) as connection:
        publish(connection, slot_name(prefix), tables)
        connectors.create(connect, prefix, settings)
        try:
            yield settings
        finally:
            connectors.delete(connect, prefix)
            drop_slot(connection, slot_name(prefix))
            drop_publication(connection, slot_name(prefix))
