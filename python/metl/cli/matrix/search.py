"""metl matrix search: what has such a name, and what it maps to."""

from collections import defaultdict
from typing import Any, NamedTuple

import click

from metl.cli.options import json_option, limit_option
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.errors import BadInput
from metl.util.terminal import format_ranges, join_names, print_json, print_table, printable, say

SEARCH = "select found, schema, versions, attribute, entity, entity_version, entity_attribute from metl.search(%s)"
KINDS = ("schema", "attribute", "entity", "entity_attribute")


class Thing(NamedTuple):
    kind: str
    name: str
    #: With that of its schema or entity.
    whole: str


@click.command(short_help="Find anything by a part of its name.")
@click.argument("text")
@limit_option(50, "so many are shown; --json has all")
@json_option
def search(text: str, limit: int, as_json: bool) -> None:
    """Find schemas, attributes, entities and their attributes by TEXT in their name, and what each maps to.

    Upper and lower case are the same. What is called exactly so comes first.

    \b
    metl matrix search mail
    """
    if not text.strip():
        raise BadInput("Give a part of a name to search for.")
    with snapshot(database_dsn()) as connection:
        matches = rows(connection, SEARCH, [text])
    if as_json:
        print_json(matches)
    elif not matches:
        say(f"Nothing has {printable(text)!r} in its name. See all names with: metl matrix schemas, metl entities list")
    else:
        _print_matches(text, matches, limit)


def _print_matches(text: str, matches: list[dict[str, Any]], limit: int) -> None:
    """A row for each thing, with all that it maps to or is fed by."""
    others: dict[Thing, dict[str, None]] = defaultdict(dict)
    versions: dict[Thing, set[int]] = defaultdict(set)
    for row in matches:
        source, target = (row["schema"], row["attribute"]), (row["entity"], row["entity_attribute"])
        from_schema = row["found"] in ("schema", "attribute")
        mine, other = (source, target) if from_schema else (target, source)
        thing = Thing(row["found"], mine[1] or mine[0], _dotted(mine))
        versions[thing].update(row["versions"] if from_schema else [row["entity_version"]])
        if other[0] is not None:
            others[thing][_dotted(other)] = None

    def order(thing: Thing) -> tuple[object, ...]:
        whole, part = thing.name.casefold(), text.casefold()
        return (whole != part, not whole.startswith(part), KINDS.index(thing.kind), thing.whole)

    things = sorted(versions, key=order)
    print_table(
        ["found", "name", "versions", "maps to, or is fed by"],
        [
            (each.kind.replace("_", " "), each.whole, format_ranges(versions[each]), join_names(list(others[each])))
            for each in things[:limit]
        ],
    )
    if len(things) > limit:
        say(f"These are the first {limit} of {len(things):,}. See more with -n, or give more of the name.")


def _dotted(names: tuple[str, str | None]) -> str:
    return ".".join(filter(None, names))
