"""What looks like a rename, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from metl.util.terminal import printable


def looks_like(renames: Iterable[Mapping[str, Any]]) -> str:
    """mail → e_mail (0.91), note → remark (0.72)."""
    return ", ".join(
        f"{printable(each['attribute'])} → {printable(each['renamed_to'])} ({float(each['score']):.2f})"
        for each in renames
    )
