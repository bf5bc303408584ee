"""The group dead-letters: what could not be mapped, and another try."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={
        "summary": "show.summary",
        "list": "show.list_",
        "show": "show.show",
        "collect": "collect.collect",
        "replay": "replay.replay",
        "give-up": "replay.give_up",
    },
    short_help="Messages that could not be mapped: see and replay them.",
)
def dead_letters() -> None:
    """Show, collect and replay dead letters: messages that could not be mapped.

    \b
    metl dead-letters collect --watch    from Kafka into the database
    metl dead-letters summary            how many, by topic, reason and ref
    metl dead-letters list --topics 'shop\\..*' --since 2h
    metl dead-letters replay --reason malformed --why 'the topic is read as flat now'
    metl dead-letters give-up 17 --purge --why 'asked to forget it'
    """
