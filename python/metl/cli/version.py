"""Versions as arguments of commands."""

import click

from metl.matrix.trees import NEWEST

VERSION = click.IntRange(1, 2**31 - 1)


def schema_version(value: str) -> int:
    try:
        return NEWEST if value == "newest" else int(VERSION(value))
    except click.BadParameter:
        raise click.BadParameter(f"{value!r} is not a version. Give a number from 1, or newest.") from None
