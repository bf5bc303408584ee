"""metl plans: updates that wait for somebody, since they would lose cells."""

from typing import Any

import click

from metl.cli.cells import print_cells
from metl.cli.display import counted, json_option, moment, print_json, printable, say
from metl.database import address, one_change, one_state, rows

PLANS = """
select plan_id, kind, name, version, lost, created_at, created_by, decision, decided_at, decided_by, state
from metl.plans
where decision = 'waiting' or %s
order by plan_id
"""
PLAN = click.IntRange(1, 2**63 - 1)


@click.group(invoke_without_command=True, short_help="Updates that wait; confirm or reject them.")
@click.option("--all", "every", is_flag=True, help="Also those that were decided.")
@json_option
@click.pass_context
def plans(context: click.Context, every: bool, as_json: bool) -> None:
    """Show the updates that wait under policy confirm, each with the exact cells that it would lose.

    \b
    metl plans
    metl plans confirm 3     let plan 3 happen
    metl plans reject 3      drop it
    """
    if context.invoked_subcommand is not None:
        return
    with one_state(address()) as connection:
        found = rows(connection, PLANS, [every])
    if as_json:
        print_json(found)
    elif not found:
        say(
            "No update ever waited. Ask to be asked with: metl policy set confirm"
            if every
            else "No plan waits. See older ones with: metl plans --all"
        )
    else:
        for plan in found:
            _print_plan(plan)
        waiting = [plan["plan_id"] for plan in found if plan["decision"] == "waiting"]
        if waiting:
            say(f"Decide with: metl plans confirm {waiting[0]}, or metl plans reject {waiting[0]}")


def _print_plan(plan: dict[str, Any]) -> None:
    what = f"version {plan['version']} of {plan['kind'].removesuffix('_version')} {printable(plan['name'])}"
    words = {
        "waiting": "would lose",
        "confirmed": f"became state {plan['state']} and lost",
        "rejected": "would have lost",
    }
    say(f"Plan {plan['plan_id']}: {what} {words[plan['decision']]} {counted(len(plan['lost']), 'cell')}.")
    print_cells(plan["lost"], fate="lost")
    say(f"It came from {printable(plan['created_by'])}, {moment(plan['created_at'])}.")
    if plan["decision"] != "waiting":
        say(f"It was {plan['decision']} by {printable(plan['decided_by'])}, {moment(plan['decided_at'])}.")


@plans.command()
@click.argument("plan", nargs=-1, required=True, type=PLAN)
@json_option
def confirm(plan: tuple[int, ...], as_json: bool) -> None:
    """Let each PLAN happen, with the losses that metl plans shows and no others.

    \b
    metl plans confirm 3
    """
    with one_change(address()) as connection:
        states = [connection.execute("select metl.confirm_plan(%s)", [each]).fetchall()[0][0] for each in plan]
        entities = "select from metl.plans where plan_id = any(%s) and kind = 'entity_version'"
        has_entities = connection.execute(entities, [list(plan)]).fetchone() is not None
    if as_json:
        print_json([{"plan_id": each, "state": state} for each, state in zip(plan, states, strict=True)])
    else:
        for each, state in zip(plan, states, strict=True):
            say(f"Plan {each} was confirmed and became state {state}.")
        if has_entities:
            say("Publish the entity's schema with: metl cdm publish")


@plans.command()
@click.argument("plan", nargs=-1, required=True, type=PLAN)
@json_option
def reject(plan: tuple[int, ...], as_json: bool) -> None:
    """Drop each PLAN: the version that waits is not added, and its number stays free.

    \b
    metl plans reject 3
    """
    with one_change(address()) as connection:
        for each in plan:
            connection.execute("select metl.reject_plan(%s)", [each])
    if as_json:
        print_json([{"plan_id": each, "state": None} for each in plan])
    else:
        for each in plan:
            say(f"Plan {each} was rejected. Nothing changed.")
