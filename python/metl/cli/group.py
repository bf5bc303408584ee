"""Groups of commands: each command is imported when it is asked for, and a wrong word gets a way out."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from metl.cli.renamed import renamed
from metl.util.nearest import nearest


class Group(click.Group):
    """`places` names each command's module, below `package`, and the function in it: {"show": "block.show"}."""

    def __init__(self, *arguments: Any, package: str, places: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.package = package
        self.places = places

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.places:
            return None
        module, _, function = self.places[cmd_name].rpartition(".")
        command: click.Command = getattr(importlib.import_module(f"{self.package}.{module}"), function)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            command = " ".join(["metl", *_path(ctx), "COMMAND", error.option_name])
            raise click.UsageError(
                f"{error.format_message()} A command comes first: {command}, where COMMAND is one of "
                f"{', '.join(self.places)}.",
                ctx,
            ) from None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            way_out = renamed([*_path(ctx), *args]) or f"{error.message}{nearest(args[0], self.places)}"
            raise click.UsageError(way_out, ctx) from None


def _path(context: click.Context) -> list[str]:
    """The words of a group, without the program, whatever that was started as."""
    if context.parent is None:
        return []
    return [*_path(context.parent), context.info_name or ""]
