"""The group matrix: what maps to what."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={
        "block": "block.block",
        "import": "mappings.import_",
        "export": "mappings.export",
        "suggest": "suggest.suggest",
        "simulate": "simulate.simulate",
        "search": "search.search",
        "feeds": "feeds.feeds",
        "fed-by": "feeds.fed_by",
        "progression": "progression.progression",
        "schemas": "schemas.schemas",
        "states": "states.states",
        "diff": "states.diff",
    },
    short_help="What maps to what: see it, change it, look back.",
)
def matrix() -> None:
    """See and change what maps to what, search it both ways, and look back through its states.

    \b
    metl matrix schemas                             what is extracted
    metl matrix suggest shop.customer               where unmapped attributes might belong
    metl matrix block add shop.customer newest person email=mail
    metl matrix import mappings.csv --dry-run
    metl matrix simulate draft.avsc                 in a producer's CI: exits 3 for losses
    metl matrix fed-by person
    metl matrix diff previous                       what the last change did
    """
