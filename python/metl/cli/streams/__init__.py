"""The group streams: messages in Kafka."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={"tail": "tail.tail", "reprocess": "reprocess.reprocess", "diff": "diff.diff"},
    short_help="Messages: see the last ones, map some again.",
)
def streams() -> None:
    """See messages of a topic, map them again, and compare what two states make of them.

    \b
    metl streams tail cdm.person -n 3
    metl streams diff 41 42 --topic shop.public.customer
    metl streams reprocess --since-state 41 --why 'label was mapped wrongly'
    """
