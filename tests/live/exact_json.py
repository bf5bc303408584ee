"""JSON read so that nothing is lost: numbers stay as they are written."""

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

# As deep as the mapper reads.
DEEPEST = 1_000
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)

# Deep documents are compared level by level.
sys.setrecursionlimit(max(10_000, sys.getrecursionlimit()))


class NotJson(ValueError):
    """Not one JSON document that the mapper reads."""


@dataclass(frozen=True)
class Number:
    """A number as it is written: 1.10 is not 1.1 here, for the mapper has no reason to write it anew."""

    text: str


class Object(dict[str, Any]):
    """An object; of two members with one name the last counts."""


def parse(text: str) -> Any:
    """The one document in a text."""
    if _depth(text) > DEEPEST:
        raise NotJson
    try:
        return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=_refuse, object_pairs_hook=Object)
    except ValueError:
        raise NotJson from None


def _refuse(_constant: str) -> None:
    raise NotJson


def _depth(text: str) -> int:
    depth = deepest = 0
    for mark in re.findall(r"[\[{\]}]", STRING.sub("", text)):
        depth += 1 if mark in "[{" else -1
        deepest = max(depth, deepest)
    return deepest
