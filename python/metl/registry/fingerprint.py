"""The ref of messages with an inline Connect schema, which has no version number: a digest of its fields."""

import hashlib
import json
import re
from typing import Any

NAMING = ("field", "type", "optional", "name", "parameters", "items", "keys", "values", "fields")
SCALAR = NAMING[:4]


def fingerprint(fields: list[dict[str, Any]]) -> str:
    """Of the row's fields, as `after` of an envelope or a flat event has them; the live mapper computes the same."""
    kept = [
        # Connect sometimes writes null for absent; Spark distinguishes the two in non-scalar fields only.
        {name: field[name] for name in NAMING if name in field and (field[name] is not None or name not in SCALAR)}
        for field in fields
    ]
    return hashlib.sha256(f"[{','.join(_text(field, NAMING) for field in kept)}]".encode()).hexdigest()


def _text(value: Any, order: tuple[str, ...] = ()) -> str:
    """JSON in Spark's spelling: no spaces, keys of an object in the order of Java's strings."""
    if isinstance(value, dict):
        names = order or sorted(value, key=lambda name: str(name).encode("utf-16-be"))
        cells = (f"{_text(name)}:{_text(value[name])}" for name in names if name in value)
        return f"{{{','.join(cells)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    escaped = json.dumps(value, ensure_ascii=False)
    return re.sub(r"\\(u[0-9a-f]{4}|.)", lambda match: _upper(match[0]), escaped)


def _upper(escape: str) -> str:
    return rf"\u{escape[2:].upper()}" if escape.startswith(r"\u") else escape
