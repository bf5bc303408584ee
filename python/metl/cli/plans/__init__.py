"""The group plans: being asked before mappings are lost."""

import click

from metl.cli.group import Group


@click.group(
    cls=Group,
    package=__name__,
    places={
        "list": "decide.list_",
        "confirm": "decide.confirm",
        "reject": "decide.reject",
        "notices": "notices.notices",
        "acknowledge": "notices.acknowledge",
        "policy": "policy.policy",
    },
    short_help="Be asked before mappings are lost.",
)
def plans() -> None:
    """Updates that would lose mappings: those that wait to be confirmed, and notices of those that happened.

    Policies say which is which: under confirm an update waits as a plan, under auto it happens and leaves a notice.

    \b
    metl plans list
    metl plans confirm 3                          let plan 3 happen
    metl plans confirm 3 --rename mail=e_mail     nothing is lost: it was a rename
    metl plans notices
    metl plans acknowledge 17                     the notices of state 17 were seen
    metl plans policy set confirm --entity person
    """
