"""The group jobs: what maps, and how it goes."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={"list": "list.list_", "stop": "list.stop", "offsets": "offsets.offsets", "reset": "offsets.reset"},
    short_help="What maps, how it goes, and how far it is.",
)
def jobs() -> None:
    """Jobs map messages, collect dead letters and fill tables: see how they are, stop them, move them in their topics.

    \b
    metl jobs list
    metl jobs stop map                   after its batch
    metl jobs offsets map                where its next batch begins
    metl jobs reset map --to earliest --why 'a new entity'
    """
