"""Which dead letters a command is about."""

from typing import Any

import click

from metl.cli.options import topics_option

DEFAULT_ATTEMPTS = 5

replays_option = click.option("--replays", default="metl.replay", show_default=True, help="The topic to send them to.")
attempts_option = click.option(
    "--attempts",
    type=click.IntRange(1),
    default=DEFAULT_ATTEMPTS,
    show_default=True,
    help="Send no dead letter more often than that.",
)


def filters(command: Any) -> Any:
    for option in (
        click.option("--since", help="Only those that died since then: 2026-03-01T12:30, or 90m, 2h, 3d ago."),
        click.option("--ref", help="Only those whose message names its version by this, such as 'global_id 17'."),
        click.option("--schema", help="Only those of this schema."),
        click.option("--reason", help="Only those with this reason: malformed, unknown_version and so on."),
        topics_option("Only those from these topics: a regular expression that matches whole names."),
    ):
        command = option(command)
    return command
