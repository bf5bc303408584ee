"""metl plans notices, metl plans acknowledge: what Auto-Update did that somebody has to see."""

import shlex
from typing import Any

import click

from metl.cli.options import dry_run_option, json_option
from metl.cli.output import arrows, block_name, looks_like
from metl.config import database_dsn
from metl.db.connection import rows, snapshot, transaction
from metl.errors import BadInput
from metl.util.terminal import format_time, plural, print_json, print_table, printable, say

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
    "came_back": "a name is there again that was mapped once; map it with metl matrix block add if it means the same",
    "frozen": "the policy is freeze, so that nothing was carried over",
    "waiting": "a plan that would lose these cells waits: see metl plans list",
    "unchanged": "all cells go on",
    "unreadable": "a version in the registry cannot be read: metl.registry_versions says why",
    "conflict": "something else has the name or number of a version in the registry: see metl.registry_versions",
}


@click.command(short_help="What updates lost, and other news.")
@click.option("--all", "every", is_flag=True, help="Also those that were acknowledged.")
@json_option
def notices(every: bool, as_json: bool) -> None:
    """List the open notices of Auto-Update, with the exact cells that were lost.

    \b
    metl plans notices
    metl plans acknowledge 17     the notices of state 17 were seen
    """
    with snapshot(database_dsn()) as connection:
        listed = rows(connection, NOTICES, [every])
    if as_json:
        print_json(listed)
    elif not listed:
        say(
            "There never was a notice." if every else "No notice is open. See older ones with: metl plans notices --all"
        )
    else:
        print_table(
            ["state", "kind", "block", "cells", "acknowledged" if every else "since"],
            [
                (
                    str(each["state"]),
                    each["kind"],
                    block_name(each),
                    arrows(each["lost"]) or None,
                    format_time(each["confirmed_at" if every else "created_at"]),
                )
                for each in listed
            ],
        )
        for kind in dict.fromkeys(each["kind"] for each in listed):
            if kind in MEANING:
                say(f"{kind}: {MEANING[kind]}.")
        for each in listed:
            if each["likely_renames"] and each["confirmed_at"] is None and each["kind"] != "waiting":
                _print_mend(each)
        seen = [each["state"] for each in listed if each["confirmed_at"] is None and each["kind"] != "waiting"]
        if seen:
            say(f"When you have seen them: metl plans acknowledge {seen[0]}")


def _print_mend(notice: dict[str, Any]) -> None:
    """What maps the new attribute as the old one was, in this version and those after it."""
    renamed = {each["attribute"]: each["renamed_to"] for each in notice["likely_renames"]}
    pairs = [
        f"{cell['entity_attribute']}={renamed[cell['attribute']]}"
        for cell in notice["lost"]
        if cell["attribute"] in renamed
    ]
    block = [notice["schema"], str(notice["version"]), notice["entity"]]
    command = printable(shlex.join(["metl", "matrix", "block", "add", *block, *pairs, "--run"]))
    title = printable(str(block_name(notice)))
    say(f"{title} looks like {looks_like(notice['likely_renames'])}. If so: {command}")
    again = f"metl streams reprocess --since-state {notice['state']} --why rename"
    say(f"Rows of it that came meanwhile lack the value until they are mapped again: {again}")


@click.command(short_help="Say that notices were seen.")
@click.argument("state", nargs=-1, type=click.IntRange(0, 2**63 - 1))
@click.option("--all", "every", is_flag=True, help="Those of every state.")
@dry_run_option
@json_option
def acknowledge(state: tuple[int, ...], every: bool, dry_run: bool, as_json: bool) -> None:
    """Say that the notices of each STATE were seen; those of plans that wait go with their plan.

    \b
    metl plans acknowledge 17 18
    metl plans acknowledge --all
    """
    if every == bool(state):
        raise BadInput("Give the states whose notices you have seen, as metl plans notices shows them, or --all.")
    with transaction(database_dsn()) as connection, connection.transaction(force_rollback=dry_run):
        open_ones = connection.execute(OPEN).fetchall()
        waiting = {number for number, kind in open_ones if kind == "waiting"}
        seen = {number for number, kind in open_ones if kind != "waiting"}
        for number in state:
            if number in waiting - seen:
                raise BadInput(f"The notices of state {number} are of plans that wait. Decide them: metl plans list")
            if number not in seen:
                raise BadInput(f"State {number} has no open notice. Those that are open: metl plans notices")
        wanted = sorted(seen) if every else sorted(set(state))
        acknowledged = sum(
            connection.execute("select metl.confirm_notices(%s::bigint)", [each]).fetchall()[0][0] for each in wanted
        )
    if as_json:
        print_json({"acknowledged": acknowledged, "states": wanted})
    else:
        say(f"Acknowledged {plural(acknowledged, 'notice')}." + " Nothing was changed: a dry run." * dry_run)
        if every and waiting:
            say("Those of plans that wait go with their plan: metl plans list")
