"""Asking before something is done that cannot be taken back."""

import sys
from collections.abc import Callable
from typing import Any

import click

from metl.errors import BadInput

yes_option: Callable[[Any], Any] = click.option("--yes", is_flag=True, help="Do it without asking.")
why_option: Callable[[Any], Any] = click.option("--why", required=True, help="The reason, to be recorded.")


def agree(question: str, yes: bool) -> None:
    """Returns if it may be done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"{question} Add --yes to do it; nothing was done.")
    if not click.confirm(question, err=True):
        raise BadInput("Nothing was done.")
