"""The PostgreSQL of a benchmark, and temporary databases on it."""

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from metl.home import Home
from metl.stack import parts, supervisor
from metl.util import signals


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The DSN in METL_DSN, or of a temporary PostgreSQL."""
    if dsn := os.environ.get("METL_DSN"):
        yield dsn
        return
    with signals.all_interrupt(), tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder, "home"))
        stack = parts(home, ("postgres",))
        supervisor.up(home, stack, lambda _part, _text: None)
        try:
            yield stack[0].address
        finally:
            with signals.shielded():
                supervisor.down(home, stack, lambda _part, _text: None)


@contextlib.contextmanager
def database(dsn: str) -> Iterator[str]:
    name = f"metl_bench_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            yield make_conninfo(dsn, dbname=name)
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
