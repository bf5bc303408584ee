"""How dead letters look, and what is in one."""

import base64
from datetime import datetime
from typing import Any

from rich.markup import escape

from metl.streams.dead_letters.select import summarize
from metl.util.terminal import console, table


def preview(letters: list[dict[str, Any]], as_json: bool) -> list[dict[str, Any]]:
    """How many of what, before anything is done."""
    counts = summarize(letters)
    if not as_json and counts:
        show_rows(counts, "topic", "reason", "ref", "letters")
    return counts


def show_rows(rows: list[dict[str, Any]], *columns: str) -> None:
    titles = {"letters": "dead letters", "letter": "number", "message_offset": "offset"}
    shown = table(*(titles.get(column, column.replace("_at", "")) for column in columns))
    for row in rows:
        shown.add_row(*(escape(_text(row[column])) for column in columns))
    console.print(shown)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: str(value) if isinstance(value, datetime) else value for name, value in row.items()} for row in rows]


def decoded(data: bytes | None) -> Any:
    """As text if it is text."""
    if data is None:
        return None
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
