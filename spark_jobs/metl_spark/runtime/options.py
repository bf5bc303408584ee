"""Command-line options that several jobs take."""

import functools
from collections.abc import Callable
from typing import Any

import click

from metl import config
from metl.streams.client_options import read_kafka_options

Decorator = Callable[[Any], Any]


def command(function: Callable[..., None]) -> click.Command:
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    return click.command(context_settings=settings)(function)


topics: Decorator = click.option(
    "--topics", required=True, help="Which topics to map: a regular expression that matches whole names."
)
unknown_version: Decorator = click.option(
    "--unknown-version",
    type=click.Choice(["dead-letter", "halt"]),
    default="dead-letter",
    show_default=True,
    help="What to do with a message whose version the matrix does not have.",
)
dead_letters: Decorator = click.option(
    "--dead-letters", default="metl.dead", show_default=True, help="The topic of messages that cannot be mapped."
)


def job(default: str) -> Decorator:
    return click.option(
        "--job", default=default, show_default=True, help="The name under which `metl jobs list` shows it."
    )


def checkpoint(command: str) -> Decorator:
    return click.option(
        "--checkpoint",
        required=True,
        help=f"Folder for the committed offsets, one for each job. `{command}` has a default.",
    )


def prefix(preposition: str) -> Decorator:
    return click.option(
        "--prefix",
        default="cdm.",
        show_default=True,
        help=f"Entities {preposition} topics named by this prefix and the entity.",
    )


def kafka(command: str) -> Decorator:
    """--kafka, --kafka-config and --kafka-option, as the parameters `brokers` and `kafka_options`."""

    def decorate(function: Callable[..., None]) -> Any:
        @click.option(
            "--kafka",
            "brokers",
            envvar=config.KAFKA.variable,
            required=True,
            help=f"host:port of Kafka [env: {config.KAFKA.variable}]. `{command}` finds that of `metl up`.",
        )
        @click.option(
            "--kafka-config",
            envvar=config.KAFKA_CONFIG,
            type=click.Path(dir_okay=False),
            help=f"File of Kafka client properties (TLS, SASL), for reading and writing [env: {config.KAFKA_CONFIG}].",
        )
        @click.option(
            "--kafka-option", "options", multiple=True, metavar="NAME=VALUE", help="One such property, if not secret."
        )
        @functools.wraps(function)
        def read(*, kafka_config: str | None, options: tuple[str, ...], **rest: Any) -> None:
            function(kafka_options=read_kafka_options(kafka_config, options), **rest)

        return read

    return decorate
