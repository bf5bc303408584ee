"""Output on a terminal, for pipes and for programs."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime

import click
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# The width of pipes and files, in which nothing is folded.
UNFOLDED = 100_000
# Between the columns of a table.
GAP = 2
# Names of a list that a terminal shows.
LISTED = 10
console = Console(highlight=False, width=None if sys.stdout.isatty() else UNFOLDED)


def say(sentence: str, style: str = "") -> None:
    """A sentence or a title, folded between words where there is a terminal."""
    console.print(Text(sentence, style))


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def table(*columns: str) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Text without markup, None as a dash, numbers to the right."""
    shown = table(*columns)
    cells: list[list[Text]] = [[Text(column)] for column in columns]
    for row in rows:
        for place, value in enumerate(row):
            cells[place].append(_cell(value))
            if isinstance(value, int):
                shown.columns[place].justify = "right"
        shown.add_row(*(column[-1] for column in cells))
    for column, width in zip(shown.columns, _widths(cells), strict=False):
        column.width = width
    with console.capture() as captured:
        console.print(shown)
    # The table pads its last column, which a pipe does not need.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()), color=console.is_terminal)


def _widths(columns: list[list[Text]]) -> list[int]:
    """Widths at which columns fold between words only; none if they do not fit or need not fold."""
    whole = [max(cell.cell_len for cell in column) for column in columns]
    widths = [max(cell_len(word) for cell in column for word in cell.plain.split(" ")) for column in columns]
    room = console.width - GAP * (len(columns) - 1) - sum(widths)
    if room < 0 or sum(whole) - sum(widths) <= room:
        return []
    # Those that lack least get room first.
    by_lack = sorted(range(len(columns)), key=lambda place: whole[place] - widths[place])
    for count, place in enumerate(by_lack):
        added = min(whole[place] - widths[place], room // (len(by_lack) - count))
        widths[place] += added
        room -= added
    return widths


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return Text("-", "dim")
    return Text(f"{value:,}" if isinstance(value, int) else printable(str(value)))


def printable(text: str) -> str:
    """Replaces control characters, which names may hold and a terminal would obey."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def is_narrow() -> bool:
    """Whether output has to fit a terminal; elsewhere it is whole and independent of width."""
    return console.width < UNFOLDED


def format_time(when: datetime | None) -> str | None:
    """In the local time zone; a terminal shows only the time if it is today, else only the date."""
    if when is None:
        return None
    local, now = when.astimezone(), datetime.now().astimezone()
    if not is_narrow():
        return local.strftime("%Y-%m-%d %H:%M:%S")
    return local.strftime("%H:%M:%S" if local.date() == now.date() else "%Y-%m-%d")


def join_names(names: Sequence[str]) -> str | None:
    """For a cell of a table; a terminal shows only the first of many."""
    more = len(names) - LISTED if is_narrow() else 0
    return ", ".join([*names[:LISTED], f"and {more:,} more"] if more > 0 else names) or None


def plural(count: int, what: str) -> str:
    """1 cell, 2 cells."""
    return f"{count:,} {what if count == 1 else f'{what}s'}"


def format_ranges(found: Iterable[int]) -> str:
    """1, 2, 3, 5 as 1-3, 5."""
    runs: list[list[int]] = []
    for number in sorted(set(found)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def count_fitting(first: Sequence[str], columns: Sequence[Sequence[str]]) -> int:
    """How many of some columns fit beside the first one; at least one, which is then folded."""
    room = console.width - max(map(cell_len, first))
    for count, column in enumerate(columns):
        room -= GAP + max(map(cell_len, column))
        if room < 0:
            return max(count, 1)
    return len(columns)
