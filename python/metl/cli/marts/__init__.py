"""The group marts: the models that derive the dense matrix."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={"build": "dbt.build", "dbt": "dbt.dbt", "lineage": "lineage.lineage"},
    short_help="The dense matrix as tables: build and trace them.",
)
def marts() -> None:
    """Build the models of dbt that derive the dense matrix, schema metl_marts, and trace where columns come from.

    \b
    metl marts build
    metl marts dbt docs generate
    metl marts lineage dpm.attribute
    """
