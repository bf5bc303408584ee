"""The group stack: the parts that run on this machine."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={"logs": "logs.logs", "env": "logs.env", "fetch": "fetch.fetch"},
    short_help="Logs, addresses and jars of the local stack.",
)
def stack() -> None:
    """Logs, addresses and jars of the local stack, which metl up starts.

    \b
    metl stack logs connect -f
    eval "$(metl stack env)"
    metl stack fetch spark --to jars
    """
