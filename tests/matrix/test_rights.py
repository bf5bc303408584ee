"""Which rights the roles have, as the catalog says, beside what sql/grants.sql says."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import scratch_database
from tests.matrix.roles import IS_PUBLIC, ROLES, functions, relations


@pytest.fixture(scope="module")
def owner(postgres: str, template: str) -> Iterator[psycopg.Connection]:
    with (
        scratch_database(postgres, template) as name,
        psycopg.connect(postgres, dbname=name, autocommit=True) as connection,
    ):
        yield connection


def test_every_function_with_the_owners_rights_has_a_fixed_search_path(owner: psycopg.Connection) -> None:
    settings = owner.execute(
        "select proname, proconfig from pg_proc where pronamespace = 'metl'::regnamespace and prosecdef"
    ).fetchall()
    assert len(settings) > 10
    bad = {
        name: config
        for name, config in settings
        if not any(re.fullmatch(r"search_path=(.+, )?pg_temp", each) for each in config or [])
    }
    assert bad == {}


def test_the_public_has_no_rights(owner: psycopg.Connection) -> None:
    rights = owner.execute("""
        with thing as (
            select 'schema' as kind, nspname::text as name, coalesce(nspacl, acldefault('n', nspowner)) as acl
            from pg_namespace where nspname = 'metl'
            union all
            select 'relation', relname, coalesce(relacl, acldefault('r', relowner))
            from pg_class where relnamespace = 'metl'::regnamespace and relkind in ('r', 'v')
            union all
            select 'sequence', relname, coalesce(relacl, acldefault('s', relowner))
            from pg_class where relnamespace = 'metl'::regnamespace and relkind = 'S'
            union all
            select 'column', attrelid::regclass || '.' || attname, attacl
            from pg_attribute inner join pg_class on attrelid = pg_class.oid
            where relnamespace = 'metl'::regnamespace and attacl is not null
            union all
            select 'function', proname, coalesce(proacl, acldefault('f', proowner))
            from pg_proc where pronamespace = 'metl'::regnamespace
            union all
            -- Types of their own; those of rows come with their tables.
            select 'type', typname, coalesce(typacl, acldefault('T', typowner))
            from pg_type left join pg_class on typrelid = pg_class.oid
            where
                typnamespace = 'metl'::regnamespace
                and (relkind = 'c' or typtype in ('d', 'e', 'r'))
        )
        select kind, name, privilege_type
        from thing cross join lateral aclexplode(acl) as entry
        where entry.grantee = 0
    """).fetchall()
    assert not rights, rights


def access_matrix(root: Path) -> dict[tuple[str, str], set[str]]:
    """What sql/grants.sql says: for each view or function, the roles with a cross."""
    lines = re.findall(
        r"\['(view|call)',\s*'([^']+)',\s*'(x?)',\s*'(x?)',\s*'(x?)'\s*\]", (root / "sql" / "grants.sql").read_text()
    )
    assert lines
    matrix: dict[tuple[str, str], set[str]] = {}
    for kind, names, *crosses in lines:
        for name in names.split(", "):
            assert (kind, name) not in matrix, f"{name} is there twice"
            matrix[kind, name] = {role for role, cross in zip(ROLES, crosses, strict=True) if cross}
    return matrix


def test_the_access_matrix_names_every_view_and_function(owner: psycopg.Connection, root: Path) -> None:
    named = set(access_matrix(root))
    views = relations(owner, r"relkind = 'v' and relname not like '\_%'")
    tables = {("view", name) for name in relations(owner, "relkind = 'r'")}
    known = {("view", name) for name in views} | {("call", name) for name in functions(owner, IS_PUBLIC)}
    assert known - named == set(), "forgotten"
    assert named - known - tables == set(), "unknown"
    assert named & tables == {("view", "type"), ("view", "accepted_type")}


@pytest.mark.parametrize("role", ROLES)
def test_each_role_has_what_the_access_matrix_says_and_nothing_else(
    owner: psycopg.Connection, root: Path, role: str
) -> None:
    granted = owner.execute(
        """
        select case when relkind = 'S' then 'sequence' else 'view' end, relname::text, privilege_type
        from pg_class cross join lateral aclexplode(relacl) as entry
        where relnamespace = 'metl'::regnamespace and entry.grantee = %(role)s::regrole
        union all
        select 'call', proname, privilege_type
        from pg_proc cross join lateral aclexplode(proacl) as entry
        where pronamespace = 'metl'::regnamespace and entry.grantee = %(role)s::regrole
        """,
        {"role": role},
    ).fetchall()
    rights = {"view": "SELECT", "call": "EXECUTE"}
    wanted = {(kind, name, rights[kind]) for (kind, name), roles in access_matrix(root).items() if role in roles}
    assert set(granted) == wanted
