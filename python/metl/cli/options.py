r"""Options and arguments that mean the same in every command.

Topics      --topic is one topic, by its name. --topics is any number of them, by a regular expression that
            matches whole names: --topics 'shop\..*'
Versions    a number from 1, or newest. Behind SCHEMA where that is an argument, --version where it is an option.
States      a number as `metl matrix states` shows it, current, previous, or -3: three before the current one.
How many    -n, --limit
--dry-run   show what would happen, and change nothing: every command that changes something has it
--yes       do not ask first
--why       the reason, which is recorded: required for what changes a stream, offered for what changes the matrix
--json      the same for programs, and nothing else on stdout
Databases   --source is a service's database; METL's own is METL_DSN
"""

import re
from collections.abc import Callable
from typing import Any

import click
import psycopg
from click.core import ParameterSource
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from metl.errors import BadInput
from metl.matrix.trees import NEWEST

SOURCE_VARIABLE = "METL_SOURCE_DSN"
SECRETS = ("password", "sslpassword")
LARGEST_VERSION = 2**31 - 1
LARGEST_STATE = 2**63 - 1
STATE_WORDS = ("current", "previous")

Decorator = Callable[[Any], Any]

json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="For programs: the answer as JSON.")
dry_run_option: Decorator = click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
yes_option: Decorator = click.option("--yes", is_flag=True, help="Do it without asking.")
why_option: Decorator = click.option("--why", required=True, help="The reason, to be recorded.")
state_why_option: Decorator = click.option("--why", help="The reason, to be recorded with the state.")
kafka_config_option: Decorator = click.option(
    "--kafka-config",
    envvar="METL_KAFKA_CONFIG",
    metavar="FILE",
    help="Kafka client properties, such as for TLS and SASL [env: METL_KAFKA_CONFIG].",
)


def limit_option(default: int, what: str, least: int = 1, most: int | None = None) -> Decorator:
    return click.option(
        "-n", "--limit", type=click.IntRange(least, most), default=default, show_default=True, help=f"At most {what}."
    )


def topic_option(what: str, *, required: bool = False) -> Decorator:
    return click.option("--topic", required=required, metavar="NAME", help=what)


def topics_option(what: str) -> Decorator:
    return click.option("--topics", metavar="REGEX", callback=_regular_expression, help=what)


def _regular_expression(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    try:
        re.compile(value or "")
    except re.error as error:
        raise BadInput(f"--{option.name} {value!r} is not a regular expression: {error}.") from None
    return value


class Version(click.ParamType[int]):
    """Of a schema: a number, or newest, which is NEWEST."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "newest":
            return NEWEST
        try:
            return int(click.IntRange(1, LARGEST_VERSION).convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is not a version. Give a number from 1, or newest.", param, ctx)


ENTITY_VERSION = click.IntRange(1, LARGEST_VERSION)


class State(click.ParamType[str]):
    """Of the matrix; `state_number` says which one a word is."""

    name = "state"

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> str:
        if value not in STATE_WORDS and not re.fullmatch(r"-?[0-9]{1,18}", str(value), re.ASCII):
            raise BadInput(f"{str(value)!r} is not a state. Give a number, previous, or -1 for the same.")
        return str(value)


def state_number(connection: psycopg.Connection, state: str) -> int:
    [[current]] = connection.execute("select metl.current_state()").fetchall()
    words = {"current": current, "previous": max(current - 1, 0)}
    number = words[state] if state in words else int(state)
    if number < 0:
        number += current
    if not 0 <= number <= current:
        raise BadInput(f"There is no state {state}. The states are 0 to {current}.")
    return int(number)


def source_option(what: str, *, required: bool = False) -> Decorator:
    return click.option(
        "--source",
        envvar=SOURCE_VARIABLE,
        required=required,
        metavar="DSN",
        callback=_without_password,
        help=f"{what} [env: {SOURCE_VARIABLE}].",
    )


def _without_password(context: click.Context, option: click.Parameter, dsn: str | None) -> str | None:
    """Everybody on this machine can read command lines: a password in one is refused before it is used."""
    if dsn is None or context.get_parameter_source(str(option.name)) is not ParameterSource.COMMANDLINE:
        return dsn
    try:
        parameters = conninfo_to_dict(dsn)
    except ProgrammingError:
        # Its own words would repeat the address, password and all.
        raise BadInput(f"--{option.name} is not an address that PostgreSQL can read.") from None
    if any(parameters.get(name) for name in SECRETS):
        raise BadInput(
            f"--{option.name} has a password, and everybody on this machine can read command lines. Set "
            f"{option.envvar} to this address instead, or leave the password out and put it into ~/.pgpass or a file "
            "that passfile=… in the address names."
        )
    return dsn
