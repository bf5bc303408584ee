"""What several commands answer with: an exit code, and cells of the matrix as lines."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import click

from metl.util.terminal import format_ranges, plural, printable, say

#: The command did its work, and the answer is no.
EXIT_NO = 3

#: How cells are marked by what became of them, and in which colour; in this order.
MARKS = {"lost": ("-", "red"), "gained": ("+", "green"), "suggested": ("?", "yellow"), "kept": ("=", None)}

#: Why they are lost, where that is not plain.
REASONS = {"type_changed": " (its type changed)", "frozen": " (frozen)"}

PAST = {"gained": "gained", "lost": "lost"}
FUTURE = {"gained": "gain", "lost": "lose"}

Cell = Mapping[str, Any]
Line = tuple[int, str, str, str, str]


def print_cells(cells: Iterable[Cell], fate: str | None = None) -> None:
    """Versions of a schema in which the same became of the same cells share their lines."""
    blocks: dict[tuple[str, int, str, int | None], list[Line]] = defaultdict(list)
    for cell in cells:
        block = (cell["schema"], cell["version"], cell["entity"], cell.get("entity_version"))
        became = fate or fate_of(cell)
        reason = cell.get("reason") or ""
        # Of one that is gained, what its types do to values.
        reason = f" ({reason})" if reason and became == "gained" else REASONS.get(reason, "")
        blocks[block].append((list(MARKS).index(became), cell["entity_attribute"], cell["attribute"], became, reason))
    versions: dict[tuple[str, str, int | None, tuple[Line, ...]], list[int]] = defaultdict(list)
    for (schema, version, entity, entity_version), lines_of_block in sorted(blocks.items()):
        versions[schema, entity, entity_version, tuple(sorted(lines_of_block))].append(version)
    for (schema, entity, entity_version, lines), shared in versions.items():
        say(block_title(schema, shared, entity, entity_version), "bold")
        for _, entity_attribute, attribute, became, reason in lines:
            mark, colour = MARKS[became]
            click.secho(f"  {mark} {arrow(attribute, entity_attribute)}{reason}", fg=colour)


def fate_of(cell: Cell) -> str:
    """Plans call it so, diffs a change."""
    return str(cell["fate"] if "fate" in cell else cell["change"])


def block_title(schema: str, versions: Iterable[int], entity: str, entity_version: int | None) -> str:
    unique = set(versions)
    word = "version" if len(unique) == 1 else "versions"
    target = printable(entity) if entity_version is None else f"{printable(entity)} version {entity_version}"
    return f"{printable(schema)} {word} {format_ranges(unique)} → {target}"


def arrow(attribute: str, entity_attribute: str) -> str:
    return f"{printable(attribute)} → {printable(entity_attribute)}"


def arrows(cells: Iterable[Cell]) -> str:
    """For one line of a table, which is folded between two of them."""
    return ", ".join(arrow(cell["attribute"], cell["entity_attribute"]) for cell in cells)


def counted_changes(cells: Iterable[Cell], words: Mapping[str, str] = PAST) -> str:
    """Gained 2 cells and lost 1 cell."""
    count = Counter(map(fate_of, cells))
    return " and ".join(f"{word} {plural(count[fate], 'cell')}" for fate, word in words.items() if count[fate])


def block_name(row: Cell) -> str | None:
    """For a table: shop.customer 3 → person 1, or as much of it as is known."""
    sides = [
        " ".join(str(row[key]) for key in keys if row.get(key) is not None)
        for keys in (("schema", "version"), ("entity", "entity_version"))
        if row.get(keys[0]) is not None
    ]
    return " → ".join(sides) or None


def looks_like(renames: Iterable[Mapping[str, Any]]) -> str:
    """mail → e_mail (0.91), note → remark (0.72)."""
    return ", ".join(f"{arrow(each['attribute'], each['renamed_to'])} ({float(each['score']):.2f})" for each in renames)
