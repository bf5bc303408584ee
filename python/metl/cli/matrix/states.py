"""metl matrix states, metl matrix diff: what changed, by whom and when."""

from typing import Any

import click

from metl.cli.options import State, json_option, limit_option, state_number
from metl.cli.output import block_name, counted_changes, print_cells
from metl.config import database_dsn
from metl.db.connection import rows, snapshot
from metl.util.terminal import format_time, plural, print_json, print_table, say

STATES = "select state, cause, who, at, summary, why from metl.states order by state desc limit %s"
DIFF = """
select change, schema, version, entity, entity_version, attribute, entity_attribute
from metl.diff(%s::bigint, %s::bigint)
order by schema, version, entity, change, entity_attribute
"""
PAST = {"add": "added", "delete": "deleted"}


@click.command(short_help="What changed lately, by whom and when.")
@limit_option(20, "so many of the newest ones")
@json_option
def states(limit: int, as_json: bool) -> None:
    """Show the newest states first: what changed, how many cells that gained and lost, by whom, when and why.

    \b
    metl matrix states -n 5
    metl matrix diff previous     the cells that the last one gained and lost
    """
    with snapshot(database_dsn()) as connection:
        newest = rows(connection, STATES, [limit])
    if as_json:
        print_json(newest)
    elif not newest:
        say("Nothing was ever changed here: this is state 0. Begin with: metl sync")
    else:
        has_reasons = any(state["why"] for state in newest)
        print_table(
            ["state", "change", "of", "cells", "by", "at", *(["why"] if has_reasons else [])],
            [
                (
                    str(state["state"]),
                    _change(state["cause"]),
                    _subject(state["summary"]),
                    _cells(state["summary"]),
                    state["who"],
                    format_time(state["at"]),
                    *([state["why"]] if has_reasons else []),
                )
                for state in newest
            ],
        )


def _change(cause: str) -> str:
    """add_schema_version as schema added."""
    verb, _, what = cause.removesuffix("_version").partition("_")
    return f"{what} {PAST.get(verb, verb)}"


def _subject(summary: dict[str, Any]) -> str | None:
    if "blocks" in summary:
        return plural(summary["blocks"], "block")
    return f"topic {summary['pattern']}" if "pattern" in summary else block_name(summary)


def _cells(summary: dict[str, Any]) -> str | None:
    signs = {"gained": "+", "lost": "-"}
    return " ".join(f"{sign}{summary[fate]:,}" for fate, sign in signs.items() if summary.get(fate)) or None


# A negative number is no option.
@click.command(
    context_settings={"ignore_unknown_options": True}, short_help="Cells gained and lost between two states."
)
@click.argument("before", type=State(), default="previous")
@click.argument("after", type=State(), default="current")
@json_option
def diff(before: str, after: str, as_json: bool) -> None:
    """Show the cells that were gained and lost from state BEFORE to state AFTER, block by block.

    A state is a number as metl matrix states shows it, current, previous, or a negative number: so many before the
    current one. Without AFTER, up to the current one; without both, what the last change did.

    \b
    metl matrix diff 17 20
    metl matrix diff -3
    """
    with snapshot(database_dsn()) as connection:
        first, last = state_number(connection, before), state_number(connection, after)
        cells = rows(connection, DIFF, [first, last])
    if as_json:
        print_json({"before": first, "after": last, "cells": cells})
        return
    say(f"From state {first} to state {last} the matrix {counted_changes(cells) or 'changed no cell'}.")
    print_cells(cells)
