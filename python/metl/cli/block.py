"""metl block: one block of the matrix, to see and to change."""

import shlex
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import click
import psycopg
from psycopg.types.json import Jsonb

from metl.cli.cells import FUTURE, block_title, counted_changes, fate_of, print_cells
from metl.cli.staircase import print_matrix
from metl.cli.version import VERSION, schema_version
from metl.db.connection import address, rows, snapshot, transaction
from metl.matrix.block import Block, read
from metl.util.terminal import json_option, numbers, print_json, printable, say

RUN = """
with stored as (
    select distinct version from metl.dusb
    where schema = %(schema)s and entity = %(entity)s and entity_version = %(entity_version)s
),

live as (
    -- In which run it is: that of the last stored block up to it.
    select known.version, max(stored.version) over (order by known.version) as anchor
    from metl.schema_versions as known
    left join stored on known.version = stored.version
    where known.schema = %(schema)s and known.deleted is null
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
    metl block show shop.customer 3 person
    metl block set shop.customer 3 person number=id email=mail     nothing but this
    metl block add shop.customer newest person phone=mobile        this as well
    metl block remove shop.customer newest person email
    metl block clear shop.customer newest person
    """


@block.command()
@click.argument("schema")
@click.argument("version", type=schema_version)
@click.argument("entity")
@click.argument("entity_version", required=False, type=VERSION)
@json_option
def show(schema: str, version: int, entity: str, entity_version: int | None, as_json: bool) -> None:
    """Show a block as a matrix: attributes of the entity down, those of the schema across, 1 where they map.

    \b
    metl block show shop.customer 3 person
    """
    with snapshot(address()) as connection:
        found = read(connection, schema, version, entity, entity_version)
        run = [number for (number,) in connection.execute(RUN, _named(found))]
        [[policy]] = connection.execute("select metl.policy_of(%s, %s)", [schema, entity]).fetchall()
    if as_json:
        print_json({**_named(found), "mapping": found.mapping, **_unmapped(found), "run": run, "policy": policy})
        return
    say(block_title(schema, [found.version], entity, found.entity_version), "bold")
    if not found.attributes:
        say("One of the two has no attributes.")
        return
    print_matrix(found.entity_attributes, found.attributes, set(found.mapping.items()))
    for words, names in _unmapped(found).items():
        if names:
            say(f"{UNMAPPED[words]}: {', '.join(map(printable, names))}")
    say(f"The same for versions {numbers(run)}. " * (len(run) > 1) + f"Policy: {policy}.")


def _unmapped(found: Block) -> dict[str, list[str]]:
    return {
        "unmapped_attributes": [name for name in found.attributes if name not in found.mapping.values()],
        "unmapped_entity_attributes": [name for name in found.entity_attributes if name not in found.mapping],
    }


def _named(found: Block) -> dict[str, Any]:
    return dict(zip(("schema", "version", "entity", "entity_version"), found.key, strict=True))


def _edit(command: Callable[..., None]) -> Callable[..., None]:
    """What all changes have in common."""
    for decorate in (
        json_option,
        click.option("--plan", is_flag=True, help="Only show what it would do."),
        click.option(
            "--run", is_flag=True, help="Also the later versions that have the same block, as far as it goes."
        ),
        click.argument("entity"),
        click.argument("version", type=schema_version),
        click.argument("schema"),
    ):
        command = decorate(command)
    return command


@block.command("set")
@_edit
@click.argument("pair", nargs=-1, required=True, metavar="ENTITY_ATTRIBUTE=ATTRIBUTE...")
def set_(schema: str, version: int, entity: str, pair: tuple[str, ...], run: bool, plan: bool, as_json: bool) -> None:
    """Let a block map these pairs and nothing else.

    \b
    metl block set shop.customer 3 person number=id email=mail
    metl block set shop.customer 1 person number=id --run --plan
    """
    _change((schema, version, entity), lambda old: old.with_only(old.parse_pairs(pair)), run, plan, as_json)


@block.command()
@_edit
@click.argument("pair", nargs=-1, required=True, metavar="ENTITY_ATTRIBUTE=ATTRIBUTE...")
def add(schema: str, version: int, entity: str, pair: tuple[str, ...], run: bool, plan: bool, as_json: bool) -> None:
    """Let a block map these pairs as well; what it maps already stays.

    \b
    metl block add shop.customer newest person phone=mobile
    """
    _change((schema, version, entity), lambda old: old.with_also(old.parse_pairs(pair)), run, plan, as_json)


@block.command()
@_edit
@click.argument("entity_attribute", nargs=-1, required=True)
def remove(
    schema: str, version: int, entity: str, entity_attribute: tuple[str, ...], run: bool, plan: bool, as_json: bool
) -> None:
    """Let a block no longer map to each ENTITY_ATTRIBUTE.

    \b
    metl block remove shop.customer newest person email
    """
    _change((schema, version, entity), lambda old: old.without(entity_attribute), run, plan, as_json)


@block.command()
@_edit
def clear(schema: str, version: int, entity: str, run: bool, plan: bool, as_json: bool) -> None:
    """Let a block map nothing.

    \b
    metl block clear shop.customer newest person
    """
    _change((schema, version, entity), lambda old: old.with_only({}), run, plan, as_json)


def _change(
    where: tuple[str, int, str], change: Callable[[Block], Block], run: bool, plan: bool, as_json: bool
) -> None:
    with (snapshot if plan else transaction)(address()) as connection:
        # What is read, shown and written is one state, or else it fails.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        wanted = change(read(connection, *where, None))
        values = [*wanted.key, Jsonb(wanted.mapping)]
        cells = rows(connection, PLAN_RUN if run else PLAN_BLOCK, values)
        changed = any(fate_of(cell) != "kept" for cell in cells)
        [[state]] = connection.execute("select metl.current_state()").fetchall()
        if changed and not plan:
            [[state]] = connection.execute(SET_RUN if run else SET_BLOCK, values).fetchall()
        gained = {cell["entity_attribute"] for cell in cells if fate_of(cell) == "gained"}
        pairs = {to: of for to, of in wanted.mapping.items() if to in gained}
        left_out = [] if plan else _left_out(connection, wanted, pairs)
    if as_json:
        print_json({"state": state, "done": changed and not plan, "cells": cells, "left_out": left_out})
    elif not changed:
        say(f"The block is so already. This is still state {state}.")
    else:
        print_cells(cell for cell in cells if fate_of(cell) != "kept")
        if plan:
            say(f"It would {counted_changes(cells, FUTURE)}. To do it, leave out --plan.")
        else:
            say(f"The matrix {counted_changes(cells)}. This is state {state}.")
            for each in left_out:
                word = "version" if len(each["versions"]) == 1 else "versions"
                command = printable(each["command"])
                say(f"Not so in {word} {numbers(each['versions'])}. To map it there as well: {command}")


def _left_out(connection: psycopg.Connection, changed: Block, pairs: dict[str, str]) -> list[dict[str, Any]]:
    """Later versions that do not map these pairs, run by run, with the command that does it."""
    versions: dict[int, list[str]] = defaultdict(list)
    for version, to, of in connection.execute(LATER, _named(changed) | {"pairs": Jsonb(pairs)}):
        versions[version].append(f"{to}={of}")
    found = []
    while versions:
        first = min(versions)
        run = [number for (number,) in connection.execute(RUN, _named(changed) | {"version": first})]
        alike = [number for number in run if number >= first and versions.get(number) == versions[first]]
        option = ["--run"] if len(alike) > 1 else []
        words = ["metl", "block", "add", changed.schema, str(first), changed.entity, *versions[first], *option]
        found.append({"versions": alike, "command": shlex.join(words)})
        for number in alike:
            del versions[number]
    return found
