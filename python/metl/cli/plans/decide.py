"""metl plans list, confirm, reject: updates that wait for somebody, since they would lose cells."""

import shlex
from typing import Any

import click
import psycopg
from psycopg.types.json import Jsonb

from metl.cli.options import dry_run_option, json_option, state_why_option
from metl.cli.output import looks_like, print_cells
from metl.config import database_dsn
from metl.db.connection import rows, snapshot, transaction
from metl.errors import BadInput
from metl.util.terminal import format_time, plural, print_json, printable, say

PLANS = """
select
    plan_id, kind, name, version, lost, likely_renames, renames, created_at, created_by, decision, decided_at,
    decided_by, state
from metl.plans
where decision = 'waiting' or %s
order by plan_id
"""
WAITING = """
select plan_id, version, registry_version, is_behind, letters
from metl.waiting_versions
order by plan_id, is_behind, entry
"""
REJECTED = """
select distinct
    plans.plan_id, plans.kind, plans.name, plans.version, waiting.letters, waiting.plan_id is not null as is_in_registry
from metl.plans left join metl.waiting_versions as waiting on plans.plan_id = waiting.plan_id
where plans.plan_id = any(%s)
order by plans.plan_id
"""
PLAN = click.IntRange(1, 2**63 - 1)


@click.command("list", short_help="Updates that wait, with what they would lose.")
@click.option("--all", "every", is_flag=True, help="Also those that were decided.")
@json_option
def list_(every: bool, as_json: bool) -> None:
    """List the updates that wait under policy confirm, each with the exact cells that it would lose.

    \b
    metl plans list
    metl plans list --all
    """
    with snapshot(database_dsn()) as connection:
        plans = rows(connection, PLANS, [every])
        waiting = rows(connection, WAITING)
    for plan in plans:
        mine = [each for each in waiting if each["plan_id"] == plan["plan_id"]]
        plan["letters"] = sum(each["letters"] for each in mine)
        plan["behind"] = [_behind(each) for each in mine if each["is_behind"]]
    if as_json:
        print_json(plans)
    elif not plans:
        say(
            "No update ever waited. Ask to be asked with: metl plans policy set confirm"
            if every
            else "No plan waits. See older ones with: metl plans list --all"
        )
    else:
        for plan in plans:
            _print_plan(plan)
        undecided = [plan["plan_id"] for plan in plans if plan["decision"] == "waiting"]
        if undecided:
            say(f"Decide with: metl plans confirm {undecided[0]}, or metl plans reject {undecided[0]}")


def _behind(waiting: dict[str, Any]) -> dict[str, Any]:
    return {name: waiting[name] for name in ("version", "registry_version", "letters")}


def _print_plan(plan: dict[str, Any]) -> None:
    what = f"version {plan['version']} of {plan['kind'].removesuffix('_version')} {printable(plan['name'])}"
    words = {
        "waiting": "would lose",
        "confirmed": f"became state {plan['state']} and lost",
        "rejected": "would have lost",
    }
    renames = plan["renames"] or {}
    lost = [cell for cell in plan["lost"] if cell["attribute"] not in renames]
    say(f"Plan {plan['plan_id']}: {what} {words[plan['decision']]} {plural(len(lost), 'cell')}.")
    print_cells(lost, fate="lost")
    if plan["decision"] == "waiting" and plan["likely_renames"]:
        pairs = [f"{each['attribute']}={each['renamed_to']}" for each in plan["likely_renames"]]
        options = [word for pair in pairs for word in ("--rename", pair)]
        command = shlex.join(["metl", "plans", "confirm", str(plan["plan_id"]), *options])
        say(f"It looks like {looks_like(plan['likely_renames'])}. If so: {printable(command)}")
    if plan["behind"]:
        numbers = ", ".join(printable(str(each["version"] or each["registry_version"])) for each in plan["behind"])
        say(f"Versions of the registry that wait behind it: {numbers}.")
    if plan["letters"] and plan["decision"] == "rejected":
        say(f"Its dead letters: {plan['letters']:,}. {_way_back(plan['name'])}")
    elif plan["letters"]:
        say(f"Dead letters that wait for it: {plan['letters']:,}. They are sent again once it is confirmed.")
    say(f"It came from {printable(plan['created_by'])}, {format_time(plan['created_at'])}.")
    if plan["decision"] != "waiting":
        renamed = ", ".join(f"{printable(old)} → {printable(new)}" for old, new in renames.items())
        how = f" with {renamed} as renamed" if renamed else ""
        say(f"It was {plan['decision']} by {printable(plan['decided_by'])}, {format_time(plan['decided_at'])}{how}.")


@click.command()
@click.argument("plan", nargs=-1, required=True, type=PLAN)
@click.option(
    "--rename",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    help="OLD goes on as NEW and keeps its cells; may be given several times.",
)
@dry_run_option
@state_why_option
@json_option
def confirm(plan: tuple[int, ...], renames: tuple[str, ...], dry_run: bool, why: str | None, as_json: bool) -> None:
    """Let each PLAN happen, with the losses that metl plans list shows and no others.

    What only has another name now need not be lost: say so with --rename, and the mapping goes on in the same state.

    \b
    metl plans confirm 3
    metl plans confirm 3 --rename mail=e_mail
    """
    if renames and len(plan) > 1:
        raise BadInput("--rename is about one plan. Confirm the others by themselves.")
    with transaction(database_dsn(), why) as connection, connection.transaction(force_rollback=dry_run):
        given = Jsonb(_read_renames(connection, plan[0], renames)) if renames else None
        confirming = "select metl.confirm_plan(%s, %s)"
        states = [connection.execute(confirming, [each, given]).fetchall()[0][0] for each in plan]
        entities = "select from metl.plans where plan_id = any(%s) and kind = 'entity_version'"
        has_entities = connection.execute(entities, [list(plan)]).fetchone() is not None
    if as_json:
        print_json([{"plan_id": each, "state": state} for each, state in zip(plan, states, strict=True)])
    elif dry_run:
        for each, state in zip(plan, states, strict=True):
            say(f"Plan {each} would be confirmed and become state {state}.")
        say("Nothing was changed: a dry run.")
    else:
        for each, state in zip(plan, states, strict=True):
            say(f"Plan {each} was confirmed and became state {state}.")
        if has_entities:
            say("Publish the entity's schema with: metl entities publish")


def _read_renames(connection: psycopg.Connection, plan: int, pairs: tuple[str, ...]) -> dict[str, str]:
    """Split at "="; names may contain "=", but only one of the new names is in the plan."""
    attributes = "select each ->> 'name' from metl.plans, jsonb_array_elements(attributes) as each where plan_id = %s"
    fresh = {name for (name,) in connection.execute(attributes, [plan])}
    renames: dict[str, str] = {}
    for pair in pairs:
        cuts = [(pair[:place], pair[place + 1 :]) for place, character in enumerate(pair) if character == "="]
        if not cuts:
            raise BadInput(f"{pair!r} is not a rename. Give OLD=NEW, such as mail=e_mail.")
        old, new = next((cut for cut in cuts if cut[1] in fresh), cuts[0])
        if renames.setdefault(old, new) != new:
            raise BadInput(f"{old!r} is renamed twice, to {renames[old]!r} and to {new!r}. It can only be one of them.")
    return renames


@click.command()
@click.argument("plan", nargs=-1, required=True, type=PLAN)
@dry_run_option
@json_option
def reject(plan: tuple[int, ...], dry_run: bool, as_json: bool) -> None:
    """Drop each PLAN: the version that waits is not added, and its number stays free.

    Messages of a schema version that is not there become dead letters. A version that came from the registry can be
    taken up again, and then waits as a new plan.

    \b
    metl plans reject 3
    metl sync --retry shop.customer     on second thought
    """
    with transaction(database_dsn()) as connection, connection.transaction(force_rollback=dry_run):
        for each in plan:
            connection.execute("select metl.reject_plan(%s)", [each])
        rejected = rows(connection, REJECTED, [list(plan)])
    if as_json:
        print_json([{"plan_id": each, "state": None} for each in plan])
    else:
        for rejection in rejected:
            say(_rejection(rejection))
        if dry_run:
            say("Nothing was changed: a dry run.")


def _rejection(plan: dict[str, Any]) -> str:
    kind = plan["kind"].removesuffix("_version")
    what = f"version {plan['version']} of {kind} {printable(plan['name'])}"
    sentence = f"Plan {plan['plan_id']} was rejected: {what} is not added."
    if kind == "entity":
        return sentence
    letters = f" ({plan['letters']:,} so far)" if plan["letters"] else ""
    way_back = f" {_way_back(plan['name'])}" if plan["is_in_registry"] else ""
    return f"{sentence} Its messages become dead letters{letters}.{way_back}"


def _way_back(schema: str) -> str:
    return f"Take it up again with: {printable(shlex.join(['metl', 'sync', '--retry', schema]))}"
