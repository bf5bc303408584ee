"""Events of a sync as sentences or JSON."""

import shlex
from typing import Any

from metl.registry.store import Event

#: Events that need no attention, unless cells were lost.
ROUTINE = ("registered", "adopted")


def sentence(event: Event) -> str:
    number = event["version"] or event["registry_version"]
    version = f"{event['schema']} {number}"
    match event["event"]:
        case "registered":
            return f"{version} came: {_cells(event)}."
        case "adopted":
            outcome = "its ids were added" if event["state"] else "nothing is new"
            return f"{version} had been registered by hand: {outcome}."
        case "waiting":
            plan = event["plan_id"]
            return (
                f"{version} waits as plan {plan}, since {_count(event['lost'], 'cell')} would be lost. "
                f"Decide it with: metl plans confirm {plan}, or metl plans reject {plan}"
            )
        case "queued":
            dead_letters = f", and {_count(event['letters'], 'dead letter')} with it" if event["letters"] else ""
            return f"{version} waits behind plan {event['plan_id']}{dead_letters}: see metl plans list"
        case "rejected":
            dead_letters = _count(event["letters"], "dead letter")
            return (
                f"{version} was rejected as plan {event['plan_id']}, and has {dead_letters}. "
                f"Take it up again with: metl sync --retry {shlex.quote(event['schema'])}"
            )
        case "deleted" if event["plan_id"]:
            return f"{version} was deleted in the registry: plan {event['plan_id']} was dropped."
        case "deleted":
            return f"{version} was deleted in the registry, and here: {_count(event['lost'], 'cell')} went with it."
        case "state changed":
            return f"{version} is {event['registry_state']} in the registry now."
        case _:
            where = f"version {event['registry_version']} of {event['artifact']} in group {event['registry_group']}"
            return f"{version} ({where}) was not taken: {event['problem']}"


def needs_attention(event: Event) -> bool:
    return event["event"] not in ROUTINE or bool(event["lost"])


def is_failure(event: Event) -> bool:
    return event["event"] in ("unreadable", "conflict")


def as_json(event: Event) -> dict[str, Any]:
    """Drop null fields."""
    return {name: value for name, value in event.items() if value is not None}


def summary(counts: dict[str, int]) -> str:
    outcomes = {
        "registered": "registered",
        "adopted": "known by hand already",
        "waiting": "waiting for a decision",
        "queued": "waiting behind a plan",
        "rejected": "rejected, with dead letters",
        "deleted": "deleted",
        "state changed": "with another state",
        "unreadable": "not readable",
        "conflict": "in conflict",
    }
    parts = [f"{counts[event]:,} {words}" for event, words in outcomes.items() if counts.get(event)]
    return f"Versions: {', '.join(parts)}." if parts else "Nothing is new in the registry."


def _cells(event: Event) -> str:
    kept, lost = event["kept"], event["lost"]
    if not kept and not lost:
        return "there was nothing to carry over"
    carried = f"{_count(kept, 'cell')} carried over"
    return f"{carried}, {lost:,} lost: see metl plans notices" if lost else carried


def _count(number: int | None, noun: str) -> str:
    return f"{number or 0:,} {noun}{'' if number == 1 else 's'}"
