"""How METL looks on a terminal."""

import json
import sys

import click
from rich.console import Console
from rich.table import Table

# What goes to a pipe or a file is not folded.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 240)


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(*columns: str) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made
