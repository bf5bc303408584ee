"""A small matrix of zeros and ones, with the names of its columns as stairs above it."""

from collections.abc import Collection, Sequence

import click
from rich.cells import cell_len, set_cell_size

from metl.util.terminal import console, printable


def print_matrix(rows: Sequence[str], columns: Sequence[str], ones: Collection[tuple[str, str]]) -> None:
    """Columns that do not fit are left out if they have no one, and otherwise follow below."""
    labels = {row: _clip(printable(row), console.width // 2) for row in rows}
    indent = max(map(cell_len, labels.values()), default=0) + 2
    shown = list(columns)
    if _fitting(shown, indent) < len(shown):
        with_ones = {column for _, column in ones}
        shown = [column for column in columns if column in with_ones] or shown
    while shown:
        count = _fitting(shown, indent)
        _print_part(labels, shown[:count], ones, indent)
        shown = shown[count:]
        if shown:
            click.echo()


def _fitting(columns: Sequence[str], indent: int) -> int:
    for place, column in enumerate(columns):
        if indent + 2 * place + cell_len(printable(column)) > console.width:
            return max(place, 1)
    return len(columns)


def _print_part(labels: dict[str, str], columns: Sequence[str], ones: Collection[tuple[str, str]], indent: int) -> None:
    for place, column in enumerate(columns):
        step = indent + 2 * place
        click.echo(" " * indent + "│ " * place + _clip(printable(column), console.width - step))
    for row, label in labels.items():
        cells = (click.style("1", fg="green", bold=True) if (row, column) in ones else "·" for column in columns)
        click.echo(set_cell_size(label, indent) + " ".join(cells))


def _clip(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(width, 2) - 1)}…"
