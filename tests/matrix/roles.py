"""People and programs who log in as members of METL's roles, and what there is for them."""

import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

ROLES = ["metl_reader", "metl_job", "metl_steward"]


@contextmanager
def member(owner: psycopg.Connection, role: str) -> Iterator[psycopg.Connection]:
    """Somebody who logs in and is a member of one role, as a person or a program would be."""
    name = sql.Identifier(f"metl_test_{uuid.uuid4().hex[:12]}")
    password = secrets.token_urlsafe(24)
    owner.execute(
        sql.SQL("create role {} login password {} in role {}").format(name, sql.Literal(password), sql.Identifier(role))
    )
    try:
        server = owner.info
        with psycopg.connect(server.dsn, user=name.as_string().strip('"'), password=password, autocommit=True) as other:
            yield other
    finally:
        owner.execute(sql.SQL("drop role {}").format(name))


def functions(owner: psycopg.Connection, condition: str) -> dict[str, int]:
    """The names of functions in schema metl and how many arguments each needs."""
    query = f"""
        select proname, pronargs - pronargdefaults from pg_proc
        where pronamespace = 'metl'::regnamespace and {condition} order by 1
    """
    return dict(owner.execute(query.encode()).fetchall())


def relations(owner: psycopg.Connection, condition: str) -> list[str]:
    query = f"select relname from pg_class where relnamespace = 'metl'::regnamespace and {condition} order by 1"
    return [row[0] for row in owner.execute(query.encode())]


IS_PUBLIC = r"proname not like '\_%'"
IS_PRIVATE = r"proname like '\_%'"


def call(connection: psycopg.Connection, function: str, *arguments: Any) -> list[tuple[Any, ...]]:
    given = [Jsonb(each) if _is_json(each) else each for each in arguments]
    query = sql.SQL("select * from metl.{}({})").format(
        sql.Identifier(function), sql.SQL(", ").join([sql.Placeholder()] * len(given))
    )
    return connection.execute(query, given).fetchall()


def _is_json(value: object) -> bool:
    """Numbers of letters come as an array."""
    return isinstance(value, dict) or (isinstance(value, list) and not any(isinstance(each, int) for each in value))


def attributes(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "int32"} for name in names]
