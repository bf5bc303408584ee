"""Throughput of `metl warehouse`, relative to COPY of the same rows into tables with the same index."""

import io
import os
import time

import psycopg
from backlog import ENTITIES
from programs import HERE, Stack, measure
from rich.table import Table

from metl.util.terminal import console

ROUNDS = 2


def tables(stack: Stack, count: int) -> None:
    """In alternate rounds, since a new server is slower; the best round counts."""
    rows = count * len(ENTITIES)
    merged, copied = zip(*(_round(stack, number) for number in range(ROUNDS)), strict=True)
    best = min(copied)
    result = Table("into PostgreSQL", "seconds", "rows/s", "share of COPY", title=f"{rows:,} records of two entities")
    for name, seconds in (("plain COPY of the same rows", copied), ("metl warehouse", merged)):
        rounds = " ".join(f"{each:.1f}" for each in seconds)
        result.add_row(name, rounds, f"{rows / min(seconds):,.0f}", f"{best / min(seconds):.2f}")
    console.print(result)


def _round(stack: Stack, number: int) -> tuple[float, float]:
    """Seconds of the job and of COPY, both into empty tables."""
    with psycopg.connect(stack.postgres, autocommit=True) as connection:
        for entity in ENTITIES if number else ():
            connection.execute(f"truncate warehouse.{entity}".encode())
            connection.execute(f"drop table plain_{entity}".encode())
        job = f"warehouse{number}"
        arguments = ("warehouse", "--available-now", "--job", job, "--checkpoint", stack.folder(job))
        merged = measure(stack, HERE / "metl_load.py", *arguments).seconds
        return merged, sum(_copy(connection, entity) for entity in ENTITIES)


def _copy(connection: psycopg.Connection, entity: str) -> float:
    """Seconds of COPY into an empty table with the warehouse's columns and index."""
    rows = io.BytesIO()
    with connection.cursor().copy(f"copy warehouse.{entity} to stdout".encode()) as out:
        for chunk in out:
            rows.write(chunk)
    connection.execute(f"create table plain_{entity} (like warehouse.{entity} including indexes)".encode())
    rows.seek(0)
    os.sync()
    began = time.monotonic()
    with connection.cursor().copy(f"copy plain_{entity} from stdin".encode()) as into:
        while chunk := rows.read(1 << 20):
            into.write(chunk)
    return time.monotonic() - began
