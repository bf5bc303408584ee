"""What happened, as a sentence or as JSON."""

import shlex
from typing import Any

from metl.registry.store import Event

#: Of these nobody has to take note.
QUIET = ("registered", "adopted")


def sentence(event: Event) -> str:
    number = event["version"] or event["registry_version"]
    what = f"{event['schema']} {number}"
    match event["event"]:
        case "registered":
            return f"{what} came: {_cells(event)}."
        case "adopted":
            told = "its ids were added" if event["state"] else "nothing is new"
            return f"{what} had been registered by hand: {told}."
        case "waiting":
            plan = event["plan_id"]
            return (
                f"{what} waits as plan {plan}, since {_count(event['lost'], 'cell')} would be lost. "
                f"Decide it with: metl plans confirm {plan}, or metl plans reject {plan}"
            )
        case "queued":
            letters = f", and {_count(event['letters'], 'dead letter')} with it" if event["letters"] else ""
            return f"{what} waits behind plan {event['plan_id']}{letters}: see metl plans list"
        case "rejected":
            letters = _count(event["letters"], "dead letter")
            return (
                f"{what} was rejected as plan {event['plan_id']}, and has {letters}. "
                f"Take it up again with: metl sync --retry {shlex.quote(event['schema'])}"
            )
        case "deleted" if event["plan_id"]:
            return f"{what} was deleted in the registry: plan {event['plan_id']} was dropped."
        case "deleted":
            return f"{what} was deleted in the registry, and here: {_count(event['lost'], 'cell')} went with it."
        case "state changed":
            return f"{what} is {event['registry_state']} in the registry now."
        case _:
            where = f"version {event['registry_version']} of {event['artifact']} in group {event['registry_group']}"
            return f"{what} ({where}) was not taken: {event['problem']}"


def needs_a_look(event: Event) -> bool:
    return event["event"] not in QUIET or bool(event["lost"])


def is_failure(event: Event) -> bool:
    return event["event"] in ("unreadable", "conflict")


def plain(event: Event) -> dict[str, Any]:
    """Without what says nothing."""
    return {name: value for name, value in event.items() if value is not None}


def summary(counts: dict[str, int]) -> str:
    words = {
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
    said = [f"{counts[event]:,} {word}" for event, word in words.items() if counts.get(event)]
    return f"Versions: {', '.join(said)}." if said else "Nothing is new in the registry."


def _cells(event: Event) -> str:
    kept, lost = event["kept"], event["lost"]
    if not kept and not lost:
        return "there was nothing to carry over"
    carried = f"{_count(kept, 'cell')} carried over"
    return f"{carried}, {lost:,} lost: see metl plans notices" if lost else carried


def _count(number: int | None, noun: str) -> str:
    return f"{number or 0:,} {noun}{'' if number == 1 else 's'}"
