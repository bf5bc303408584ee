"""metl notices: what Auto-Update has to tell."""

import shlex
from typing import Any

import click

from metl.cli.cells import arrows, block_name
from metl.cli.renames import looks_like
from metl.db.connection import address, rows, snapshot, transaction
from metl.errors import BadInput
from metl.util.terminal import counted, json_option, moment, print_json, print_table, printable, say

NOTICES = """
select state, kind, schema, version, entity, entity_version, lost, created_at, confirmed_at, likely_renames
from metl.notices
where confirmed_at is null or %s
order by state desc, schema, version, entity
"""
OPEN = "select state, kind from metl.notices where confirmed_at is null"
MEANING = {
    "shrunk": "a block lost some of its cells",
    "vanished": "a block lost all of its cells",
    "type_changed": "an attribute changed its type, and these cells are lost",
    "came_back": "a name is there again that was mapped once; map it with metl block add if it means the same",
    "frozen": "the policy is freeze, so that nothing was carried over",
    "waiting": "a plan that would lose these cells waits: see metl plans",
    "unchanged": "all cells go on",
    "unreadable": "a version in the registry cannot be read: metl.registry_versions says why",
    "conflict": "something else has the name or number of a version in the registry: see metl.registry_versions",
}


@click.group(invoke_without_command=True, short_help="What Auto-Update has to tell; take note of it.")
@click.option("--all", "every", is_flag=True, help="Also those that were confirmed.")
@json_option
@click.pass_context
def notices(context: click.Context, every: bool, as_json: bool) -> None:
    """Show what Auto-Update has to tell: open notices, with the exact cells that were lost.

    \b
    metl notices
    metl notices confirm 17     take note of those of state 17
    """
    if context.invoked_subcommand is not None:
        return
    with snapshot(address()) as connection:
        found = rows(connection, NOTICES, [every])
    if as_json:
        print_json(found)
    elif not found:
        say("There never was a notice." if every else "No notice is open. See older ones with: metl notices --all")
    else:
        print_table(
            ["state", "kind", "block", "cells", "confirmed" if every else "since"],
            [
                (
                    str(each["state"]),
                    each["kind"],
                    block_name(each),
                    arrows(each["lost"]) or None,
                    moment(each["confirmed_at" if every else "created_at"]),
                )
                for each in found
            ],
        )
        for kind in dict.fromkeys(each["kind"] for each in found):
            if kind in MEANING:
                say(f"{kind}: {MEANING[kind]}.")
        for each in found:
            if each["likely_renames"] and each["confirmed_at"] is None and each["kind"] != "waiting":
                _print_mend(each)
        seen = [each["state"] for each in found if each["confirmed_at"] is None and each["kind"] != "waiting"]
        if seen:
            say(f"Take note with: metl notices confirm {seen[0]}")


def _print_mend(notice: dict[str, Any]) -> None:
    """What maps the new attribute as the old one was, in this version and those after it."""
    renamed = {each["attribute"]: each["renamed_to"] for each in notice["likely_renames"]}
    pairs = [
        f"{cell['entity_attribute']}={renamed[cell['attribute']]}"
        for cell in notice["lost"]
        if cell["attribute"] in renamed
    ]
    block = [notice["schema"], str(notice["version"]), notice["entity"]]
    command = printable(shlex.join(["metl", "block", "add", *block, *pairs, "--run"]))
    title = printable(str(block_name(notice)))
    say(f"{title} looks like {looks_like(notice['likely_renames'])}. If so: {command}")
    again = f"metl reprocess --since-state {notice['state']} --why rename"
    say(f"Rows of it that came meanwhile lack the value until they are mapped again: {again}")


@notices.command()
@click.argument("state", nargs=-1, type=click.IntRange(0, 2**63 - 1))
@click.option("--all", "every", is_flag=True, help="Those of every state.")
@json_option
def confirm(state: tuple[int, ...], every: bool, as_json: bool) -> None:
    """Take note of the notices of each STATE; those of plans that wait go with their plan.

    \b
    metl notices confirm 17 18
    metl notices confirm --all
    """
    if every == bool(state):
        raise BadInput("Give the states whose notices you have seen, as metl notices shows them, or --all.")
    with transaction(address()) as connection:
        open_ones = connection.execute(OPEN).fetchall()
        waiting = {number for number, kind in open_ones if kind == "waiting"}
        seen = {number for number, kind in open_ones if kind != "waiting"}
        for number in state:
            if number in waiting - seen:
                raise BadInput(f"The notices of state {number} are of plans that wait. Decide them: metl plans")
            if number not in seen:
                raise BadInput(f"State {number} has no open notice. Those that are open: metl notices")
        wanted = sorted(seen) if every else sorted(set(state))
        confirmed = sum(
            connection.execute("select metl.confirm_notices(%s::bigint)", [each]).fetchall()[0][0] for each in wanted
        )
    if as_json:
        print_json({"confirmed": confirmed, "states": wanted})
    else:
        say(f"Confirmed {counted(confirmed, 'notice')}.")
        if every and waiting:
            say("Those of plans that wait go with their plan: metl plans")
