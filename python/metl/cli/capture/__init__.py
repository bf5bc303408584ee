"""The group capture: change data capture of a service's database."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={
        "check": "add.check",
        "add": "add.add",
        "list": "show.list_",
        "show": "show.show",
        "snapshot": "snapshot.snapshot",
        "restart": "restart.restart",
        "remove": "remove.remove",
    },
    short_help="Let Debezium read the changes of tables.",
)
def capture() -> None:
    """Let Debezium read the changes of tables of PostgreSQL databases into topics PREFIX.<schema>.<table>.

    A connector is named like the prefix of its topics. Each message carries the id under which the registry knows its
    schema. `metl status` shows how all connectors are.

    \b
    metl capture check shop public.customer         what would stand in the way
    metl capture add shop public.customer public.payment
    metl capture list
    metl capture snapshot shop public.customer --why 'rows were lost'
    metl capture remove shop public.payment --why 'not used'
    """
