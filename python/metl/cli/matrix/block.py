"""The group matrix block: one block of the matrix, to see and to change."""

import shlex
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import click
import psycopg
from psycopg.types.json import Jsonb

from metl.cli.matrix.staircase import print_matrix
from metl.cli.options import ENTITY_VERSION, Version, dry_run_option, json_option, state_why_option
from metl.cli.output import FUTURE, block_title, counted_changes, fate_of, print_cells
from metl.config import database_dsn
from metl.db.connection import rows, snapshot, transaction
from metl.matrix.block import Block, read
from metl.util.terminal import format_ranges, print_json, printable, say

RUN = """
with stored as (
    select distinct version from metl.dusb
    where schema = %(schema)s and entity = %(entity)s and entity_version = %(entity_version)s
),

live as (
    -- In which run it is: that of the last stored block up to it.
    select listed.version, max(stored.version) over (order by listed.version) as anchor
    from metl.schema_versions as listed
    left join stored on listed.version = stored.version
    where listed.schema = %(schema)s and listed.deleted is null
)

select live.version from live
where live.anchor is not distinct from (select this.anchor from live as this where this.version = %(version)s)
order by live.version
"""
#: Later versions that have what is mapped now, and do not map it.
LATER = """
select later.version, pair.entity_attribute, later.attribute
from jsonb_each_text(%(pairs)s) as pair (entity_attribute, attribute)
inner join metl.schema_attributes as this
    on this.schema = %(schema)s and this.version = %(version)s and pair.attribute = this.attribute
inner join metl.schema_attributes as later
    on
        later.schema = %(schema)s
        and this.attribute_id = later.attribute_id
        and later.version > this.version
        and later.is_live
where not exists (
    select from metl.decompaction as one
    where
        one.schema = %(schema)s
        and one.version = later.version
        and one.entity = %(entity)s
        and (one.attribute = later.attribute or one.entity_attribute = pair.entity_attribute)
)
order by later.version, pair.entity_attribute
"""
PLAN_BLOCK = "select * from metl.plan_block(%s, %s, %s, %s, %s)"
PLAN_RUN = "select * from metl.plan_run(%s, %s, %s, %s, %s)"
SET_BLOCK = "select metl.set_block(%s, %s, %s, %s, %s)"
SET_RUN = "select metl.set_run(%s, %s, %s, %s, %s)"
UNMAPPED = {"unmapped_attributes": "Not mapped", "unmapped_entity_attributes": "Without a source"}


@click.group(short_help="Show or change how a schema maps to an entity.")
def block() -> None:
    """Show or change one block: how a version of a schema maps to an entity.

    SCHEMA's VERSION is a number or newest; the entity's live version is meant, unless another is named.

    \b
    metl matrix block show shop.customer 3 person
    metl matrix block set shop.customer 3 person number=id email=mail     nothing but this
    metl matrix block add shop.customer newest person phone=mobile        this as well
    metl matrix block remove shop.customer newest person email
    metl matrix block clear shop.customer newest person
    """


@block.command()
@click.argument("schema")
@click.argument("version", type=Version())
@click.argument("entity")
@click.argument("entity_version", required=False, type=ENTITY_VERSION)
@json_option
def show(schema: str, version: int, entity: str, entity_version: int | None, as_json: bool) -> None:
    """Show a block as a matrix: attributes of the entity down, those of the schema across, 1 where they map.

    \b
    metl matrix block show shop.customer 3 person
    """
    with snapshot(database_dsn()) as connection:
        current = read(connection, schema, version, entity, entity_version)
        run = [number for (number,) in connection.execute(RUN, _named(current))]
        [[policy]] = connection.execute("select metl.policy_of(%s, %s)", [schema, entity]).fetchall()
    if as_json:
        print_json({**_named(current), "mapping": current.mapping, **_unmapped(current), "run": run, "policy": policy})
        return
    say(block_title(schema, [current.version], entity, current.entity_version), "bold")
    if not current.attributes:
        say("One of the two has no attributes.")
        return
    print_matrix(current.entity_attributes, current.attributes, set(current.mapping.items()))
    for words, names in _unmapped(current).items():
        if names:
            say(f"{UNMAPPED[words]}: {', '.join(map(printable, names))}")
    say(f"The same for versions {format_ranges(run)}. " * (len(run) > 1) + f"Policy: {policy}.")


def _unmapped(current: Block) -> dict[str, list[str]]:
    return {
        "unmapped_attributes": [name for name in current.attributes if name not in current.mapping.values()],
        "unmapped_entity_attributes": [name for name in current.entity_attributes if name not in current.mapping],
    }


def _named(current: Block) -> dict[str, Any]:
    return dict(zip(("schema", "version", "entity", "entity_version"), current.key, strict=True))


def _edit(command: Callable[..., None]) -> Callable[..., None]:
    """What all changes have in common."""
    for decorate in (
        json_option,
        dry_run_option,
        state_why_option,
        click.option(
            "--run", is_flag=True, help="Also the later versions that have the same block, as far as it goes."
        ),
        click.argument("entity"),
        click.argument("version", type=Version()),
        click.argument("schema"),
    ):
        command = decorate(command)
    return command


@block.command("set")
@_edit
@click.argument("pair", nargs=-1, required=True, metavar="ENTITY_ATTRIBUTE=ATTRIBUTE...")
def set_(
    schema: str,
    version: int,
    entity: str,
    pair: tuple[str, ...],
    run: bool,
    dry_run: bool,
    why: str | None,
    as_json: bool,
) -> None:
    """Let a block map these pairs and nothing else.

    \b
    metl matrix block set shop.customer 3 person number=id email=mail
    metl matrix block set shop.customer 1 person number=id --run --dry-run
    """
    _change((schema, version, entity), lambda old: old.with_only(old.parse_pairs(pair)), run, dry_run, why, as_json)


@block.command()
@_edit
@click.argument("pair", nargs=-1, required=True, metavar="ENTITY_ATTRIBUTE=ATTRIBUTE...")
def add(
    schema: str,
    version: int,
    entity: str,
    pair: tuple[str, ...],
    run: bool,
    dry_run: bool,
    why: str | None,
    as_json: bool,
) -> None:
    """Let a block map these pairs as well; what it maps already stays.

    \b
    metl matrix block add shop.customer newest person phone=mobile
    """
    _change((schema, version, entity), lambda old: old.with_also(old.parse_pairs(pair)), run, dry_run, why, as_json)


@block.command()
@_edit
@click.argument("entity_attribute", nargs=-1, required=True)
def remove(
    schema: str,
    version: int,
    entity: str,
    entity_attribute: tuple[str, ...],
    run: bool,
    dry_run: bool,
    why: str | None,
    as_json: bool,
) -> None:
    """Let a block no longer map to each ENTITY_ATTRIBUTE.

    \b
    metl matrix block remove shop.customer newest person email
    """
    _change((schema, version, entity), lambda old: old.without(entity_attribute), run, dry_run, why, as_json)


@block.command()
@_edit
def clear(schema: str, version: int, entity: str, run: bool, dry_run: bool, why: str | None, as_json: bool) -> None:
    """Let a block map nothing.

    \b
    metl matrix block clear shop.customer newest person
    """
    _change((schema, version, entity), lambda old: old.with_only({}), run, dry_run, why, as_json)


def _change(
    where: tuple[str, int, str],
    change: Callable[[Block], Block],
    run: bool,
    dry_run: bool,
    why: str | None,
    as_json: bool,
) -> None:
    with snapshot(database_dsn()) if dry_run else transaction(database_dsn(), why) as connection:
        # What is read, shown and written is one state, or else it fails.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        wanted = change(read(connection, *where, None))
        values = [*wanted.key, Jsonb(wanted.mapping)]
        cells = rows(connection, PLAN_RUN if run else PLAN_BLOCK, values)
        changed = any(fate_of(cell) != "kept" for cell in cells)
        [[state]] = connection.execute("select metl.current_state()").fetchall()
        if changed and not dry_run:
            [[state]] = connection.execute(SET_RUN if run else SET_BLOCK, values).fetchall()
        gained = {cell["entity_attribute"] for cell in cells if fate_of(cell) == "gained"}
        pairs = {to: of for to, of in wanted.mapping.items() if to in gained}
        left_out = [] if dry_run else _left_out(connection, wanted, pairs)
    if as_json:
        print_json({"state": state, "done": changed and not dry_run, "cells": cells, "left_out": left_out})
    elif not changed:
        say(f"The block is so already. This is still state {state}.")
    else:
        print_cells(cell for cell in cells if fate_of(cell) != "kept")
        if dry_run:
            say(f"It would {counted_changes(cells, FUTURE)}. To do it, leave out --dry-run.")
        else:
            say(f"The matrix {counted_changes(cells)}. This is state {state}.")
            for each in left_out:
                word = "version" if len(each["versions"]) == 1 else "versions"
                command = printable(each["command"])
                say(f"Not so in {word} {format_ranges(each['versions'])}. To map it there as well: {command}")


def _left_out(connection: psycopg.Connection, changed: Block, pairs: dict[str, str]) -> list[dict[str, Any]]:
    """Later versions that do not map these pairs, run by run, with the command that does it."""
    versions: dict[int, list[str]] = defaultdict(list)
    for version, to, of in connection.execute(LATER, _named(changed) | {"pairs": Jsonb(pairs)}):
        versions[version].append(f"{to}={of}")
    runs = []
    while versions:
        first = min(versions)
        run = [number for (number,) in connection.execute(RUN, _named(changed) | {"version": first})]
        alike = [number for number in run if number >= first and versions.get(number) == versions[first]]
        option = ["--run"] if len(alike) > 1 else []
        words = [
            "metl",
            "matrix",
            "block",
            "add",
            changed.schema,
            str(first),
            changed.entity,
            *versions[first],
            *option,
        ]
        runs.append({"versions": alike, "command": shlex.join(words)})
        for number in alike:
            del versions[number]
    return runs
