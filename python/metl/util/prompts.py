"""Confirmation of what cannot be undone."""

import sys

import click

from metl.errors import BadInput


def confirm(question: str, yes: bool) -> None:
    """Returns if it may be done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"{question} Add --yes to do it; nothing was done.")
    if not click.confirm(question, err=True):
        raise BadInput("Nothing was done.")
