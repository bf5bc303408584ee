"""Finds stored dead letters by number or by filter."""

import re
from typing import Any

import psycopg

from metl.db.connection import rows
from metl.errors import BadInput
from metl.util.nearest import nearest
from metl.util.timestamps import parse_timestamp

BY_FILTERS = """
select * from metl.dead_letters
where
    (%(topics)s::text is null or topic ~ ('^(?:' || %(topics)s || ')$'))
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
FILTERS = ("topics", "reason", "schema", "ref", "since", "status", "letters", "limit")


def find(connection: psycopg.Connection, **filters: Any) -> list[dict[str, Any]]:
    """Those that match every filter that is not null, the newest first; FILTERS has their names."""
    since = filters.get("since")
    filters = dict.fromkeys(FILTERS) | filters | {"since": parse_timestamp(since, "--since") if since else None}
    return rows(connection, BY_FILTERS, filters)


def require(
    connection: psycopg.Connection, letters: tuple[int, ...], *, status: str | None = None, **filters: str | None
) -> list[dict[str, Any]]:
    """Either by number or by filters; raises if there are none."""
    if bool(letters) == any(filters.values()):
        raise BadInput(
            "Say which dead letters: by their numbers, or by --topics, --reason, --schema, --ref or --since."
        )
    matches = find(connection, **filters, status=status, letters=list(letters) or None)
    numbers = {letter["letter"] for letter in matches}
    if missing := [letter for letter in letters if letter not in numbers]:
        raise BadInput(f"There is no dead letter {missing[0]}. See those that there are with: metl dead-letters list")
    if not matches:
        others = find(connection, **filters) if status else []
        if others:
            raise BadInput(
                f"None of these {len(others)} dead letters waits: they were sent or given up. Name them by number to "
                "choose them all the same; see them with: metl dead-letters list"
            )
        raise BadInput(f"There are no such dead letters.{_suggestion(connection, filters)}")
    return matches


def _suggestion(connection: psycopg.Connection, filters: dict[str, str | None]) -> str:
    counts = rows(connection, COUNTS)
    for option, name in (("topics", "topic"), ("reason", "reason"), ("schema", "schema"), ("ref", "ref")):
        value = filters.get(option)
        existing = {count[name] for count in counts if count[name] is not None}
        pattern = value if option == "topics" else re.escape(value or "")
        if value and not any(re.fullmatch(str(pattern), each) for each in existing):
            return f" None has {name} {value!r}.{nearest(value, existing)}"
    return ""


def summarize(letters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counts by topic, reason and ref, the largest first."""
    counts: dict[tuple[Any, ...], int] = {}
    for letter in letters:
        key = (letter["topic"], letter["reason"], letter["ref"])
        counts[key] = counts.get(key, 0) + 1
    return [
        {"topic": topic, "reason": reason, "ref": ref, "letters": count}
        for (topic, reason, ref), count in sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))
    ]
