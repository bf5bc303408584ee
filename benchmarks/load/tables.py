"""Entities into tables, beside COPY of the very same rows into tables with the same index."""

import io
import time

import psycopg
from backlog import ENTITIES
from programs import HERE, Stack, measure
from rich.table import Table

from metl.cli.display import console


def tables(stack: Stack, count: int) -> None:
    rows = count * len(ENTITIES)
    merged = measure(stack, HERE / "metl_load.py", "warehouse", "--available-now")
    with psycopg.connect(stack.postgres, autocommit=True) as connection:
        copied = sum(_copy(connection, entity) for entity in ENTITIES)
    shown = Table("into PostgreSQL", "seconds", "rows/s", "share of COPY", title=f"{rows:,} records of two entities")
    shown.add_row("plain COPY of the same rows", f"{copied:.1f}", f"{rows / copied:,.0f}", "1.00")
    shown.add_row(
        "metl warehouse", f"{merged.seconds:.1f}", f"{rows / merged.seconds:,.0f}", f"{copied / merged.seconds:.2f}"
    )
    console.print(shown)


def _copy(connection: psycopg.Connection, entity: str) -> float:
    """Seconds that it takes into an empty table that has the warehouse's columns and index."""
    rows = io.BytesIO()
    with connection.cursor().copy(f"copy warehouse.{entity} to stdout".encode()) as out:
        for chunk in out:
            rows.write(chunk)
    connection.execute(f"create table plain_{entity} (like warehouse.{entity} including indexes)".encode())
    rows.seek(0)
    began = time.monotonic()
    with connection.cursor().copy(f"copy plain_{entity} from stdin".encode()) as into:
        while chunk := rows.read(1 << 20):
            into.write(chunk)
    return time.monotonic() - began
