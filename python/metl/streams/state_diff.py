"""Compares the records that two states map the same messages to, attribute by attribute."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Position = tuple[str, int, int]
#: The record sent to each entity; under "dead" the reason of a dead letter.
Outcome = dict[str, Any]
MISSING = object()


@dataclass(frozen=True)
class Difference:
    entity: str
    #: Null if the record as a whole differs.
    attribute: str | None
    change: str


@dataclass
class Comparison:
    messages: int = 0
    differing: int = 0
    counts: Counter[Difference] = field(default_factory=Counter)
    examples: dict[Difference, list[tuple[Position, Any, Any]]] = field(default_factory=dict)


def outcomes(records: Iterable[Any], prefix: str) -> dict[Position, Outcome]:
    """By position of the input message; that of a filtered message is empty."""
    by_position: dict[Position, Outcome] = {}
    for record in records:
        headers = {header["key"]: header["value"] for header in record["headers"] or []}
        header_prefix = "__connect.errors." if record["reason"] else "metl."
        topic, partition, offset = (
            bytes(headers[f"{header_prefix}{name}"]).decode() for name in ("topic", "partition", "offset")
        )
        outcome = by_position.setdefault((topic, int(partition), int(offset)), {})
        if record["reason"]:
            outcome["dead"] = record["reason"]
        elif record["topic"] is not None:
            value = record["value"]
            # Decimal, since a float would equate numbers that differ after 15 digits.
            parsed = None if value is None else json.loads(bytes(value), parse_float=Decimal, parse_int=Decimal)
            outcome[record["topic"].removeprefix(prefix)] = parsed
    return by_position


def compare(old: dict[Position, Outcome], new: dict[Position, Outcome], max_examples: int) -> Comparison:
    result = Comparison(messages=len(old.keys() | new.keys()))
    for position in sorted(old.keys() | new.keys()):
        differences = list(_differences(old.get(position, {}), new.get(position, {})))
        result.differing += bool(differences)
        for difference, before, after in differences:
            result.counts[difference] += 1
            examples = result.examples.setdefault(difference, [])
            if len(examples) < max_examples:
                examples.append((position, before, after))
    return result


def _differences(old: Outcome, new: Outcome) -> Iterable[tuple[Difference, Any, Any]]:
    if old.get("dead") != new.get("dead"):
        reasons = (old.get("dead", "mapped"), new.get("dead", "mapped"))
        yield Difference("-", None, " became ".join(reasons)), None, None
    for entity in sorted((old.keys() | new.keys()) - {"dead"}):
        if entity not in old or entity not in new:
            yield Difference(entity, None, "only new" if entity in new else "only old"), None, None
            continue
        before, after = old[entity] or {}, new[entity] or {}
        if before.get("version") != after.get("version"):
            yield Difference(entity, None, f"version {before.get('version')} became {after.get('version')}"), None, None
        for side in ("before", "after"):
            yield from _attributes(entity, side, before.get(side) or {}, after.get(side) or {})


def _attributes(
    entity: str, side: str, old: dict[str, Any], new: dict[str, Any]
) -> Iterable[tuple[Difference, Any, Any]]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, MISSING), new.get(name, MISSING)
        if before != after:
            change = "gained" if before is MISSING else "lost" if after is MISSING else "changed"
            difference = Difference(entity, name, f"{change} ({side})")
            yield difference, None if before is MISSING else before, None if after is MISSING else after
