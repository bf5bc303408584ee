"""Which dead letters somebody means."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from metl.errors import BadInput
from metl.util.nearest import nearest
from metl.util.timestamps import moment

CHOSEN = r"""
select * from metl.dead_letters
where
    (%(topic)s::text is null or topic like replace(replace(replace(%(topic)s, '\', '\\'), '_', '\_'), '*', '%%'))
    and (%(reason)s::text is null or reason = %(reason)s)
    and (%(schema)s::text is null or schema = %(schema)s)
    and (%(ref)s::text is null or ref = %(ref)s)
    and (%(since)s::timestamptz is null or last_at >= %(since)s)
    and (%(status)s::text is null or status = %(status)s)
    and (%(letters)s::bigint[] is null or letter = any(%(letters)s))
order by last_at desc, letter desc
limit %(limit)s
"""
COUNTS = "select * from metl.dead_letter_counts order by letters desc, topic, reason, ref"
NAMES = ("topic", "reason", "schema", "ref", "since", "status", "letters", "limit")


def rows(
    connection: psycopg.Connection, query: str, arguments: Sequence[Any] | Mapping[str, Any] = ()
) -> list[dict[str, Any]]:
    return connection.cursor(row_factory=dict_row).execute(query.encode(), arguments).fetchall()


def chosen(connection: psycopg.Connection, **wanted: Any) -> list[dict[str, Any]]:
    """By what is not null of NAMES, the newest first."""
    since = wanted.get("since")
    given = dict.fromkeys(NAMES) | wanted | {"since": moment(since, "--since") if since else None}
    return rows(connection, CHOSEN, given)


def named(
    connection: psycopg.Connection, letters: tuple[int, ...], *, status: str | None = None, **wanted: str | None
) -> list[dict[str, Any]]:
    """By their numbers or else by something, and only those of a status, if any; an error if there are none."""
    if bool(letters) == any(wanted.values()):
        raise BadInput("Say which letters: by their numbers, or by --topic, --reason, --schema, --ref or --since.")
    found = chosen(connection, **wanted, status=status, letters=list(letters) or None)
    known = {letter["letter"] for letter in found}
    if missing := [letter for letter in letters if letter not in known]:
        raise BadInput(f"There is no dead letter {missing[0]}. See those that there are with: metl dead list")
    if not found:
        others = chosen(connection, **wanted) if status else []
        if others:
            raise BadInput(
                f"None of these {len(others)} letters waits: they were sent or given up. Name them by number to "
                "choose them all the same; see them with: metl dead list"
            )
        raise BadInput(f"There are no such dead letters.{_hint(connection, wanted)}")
    return found


def _hint(connection: psycopg.Connection, wanted: dict[str, str | None]) -> str:
    counts = rows(connection, COUNTS)
    for name in ("topic", "reason", "schema", "ref"):
        given = wanted.get(name)
        known = {count[name] for count in counts if count[name] is not None}
        if given and given not in known and "*" not in given:
            return f" None has {name} {given!r}.{nearest(given, known)}"
    return ""


def groups(letters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many of what."""
    counts: dict[tuple[Any, ...], int] = {}
    for letter in letters:
        key = (letter["topic"], letter["reason"], letter["ref"])
        counts[key] = counts.get(key, 0) + 1
    return [
        {"topic": topic, "reason": reason, "ref": ref, "letters": count}
        for (topic, reason, ref), count in sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))
    ]
