"""metl capture: change data capture of a service's database."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click
import psycopg
from psycopg.conninfo import make_conninfo

from metl.capture import checks, connectors, lifecycle, source
from metl.capture.checks import Finding
from metl.capture.lifecycle import ConnectorRef
from metl.capture.monitor import observe
from metl.capture.names import listed_tables, require_prefix
from metl.capture.settings import postgres_source, signal_settings
from metl.capture.snapshots import BLOCKING, SnapshotResult, accepts_signals
from metl.cli.capture_display import print_connectors, print_findings
from metl.cli.source import without_secrets
from metl.config import OWNER
from metl.db.connection import address, connect
from metl.errors import BadInput, Interrupted, MetlError
from metl.home import Home
from metl.stack import parts
from metl.streams import broker
from metl.streams.operations import operation
from metl.util.prompts import agree, why_option, yes_option
from metl.util.terminal import counted, json_option, print_json, print_table

dsn_option: Callable[[Any], Any] = click.option(
    "--dsn", callback=without_secrets, help="The service's database; by default the connector's, or PREFIX on METL's."
)
kafka_option: Callable[[Any], Any] = click.option(
    "--kafka-config", envvar="METL_KAFKA_CONFIG", help="File of Kafka client properties."
)


@click.group(short_help="Let Debezium read the changes of tables.")
def capture() -> None:
    """Let Debezium read the changes of tables of PostgreSQL databases into topics PREFIX.<schema>.<table>.

    A connector is named like the prefix of its topics. Each message carries the id under which the registry knows its
    schema. `metl status` shows how all connectors are.
    """


@capture.command(short_help="Capture tables, also of a connector that runs.")
@click.argument("prefix")
@click.argument("table", nargs=-1, required=True)
@dsn_option
@click.option(
    "--password",
    "reference",
    metavar="REFERENCE",
    help="Where Kafka Connect finds the password: ${file:…:…}. That of the local stack knows metl_owner's.",
)
@yes_option
@kafka_option
def add(
    prefix: str, table: tuple[str, ...], dsn: str | None, reference: str | None, yes: bool, kafka_config: str | None
) -> None:
    """Capture TABLEs (schema.table): make connector PREFIX, or add them to it.

    \b
    metl capture add shop public.customer public.orders

    What could go wrong is checked before anything is changed. The rows that are there are read first, and the command
    waits for them; other tables and settings of a connector stay as they are.
    """
    place = ConnectorRef(connectors.address(), require_prefix(prefix), broker.settings(kafka_config))
    settings = connectors.find_config(place.connect, prefix)
    with _source(prefix, settings, dsn) as connection:
        found = _checked(connection, prefix, table, settings)
        print_findings(found)
        if checks.refused(found):
            raise BadInput("Nothing was changed: see what is refused.")
        database = connection.info.dbname
        if settings is not None and reference is not None:
            raise BadInput(f"Connector {prefix} has its password already; --password is for a new one.")
        try:
            if settings is None:
                made = _settings(connection, prefix, table, reference)
                _summed_up([lifecycle.create(connection, place, made, table, click.echo)])
            else:
                _add(connection, place, settings, table, yes)
        except KeyboardInterrupt:
            raise Interrupted(
                f"Interrupted. What connector {prefix} was told it goes on with: metl capture show {prefix} shows it, "
                f"metl capture remove {prefix} … takes it back."
            ) from None
    click.echo(f"Debezium reads {', '.join(table)} of database {database} into topics {prefix}.*.")


def _add(
    connection: psycopg.Connection, place: ConnectorRef, settings: dict[str, str], tables: tuple[str, ...], yes: bool
) -> None:
    if not accepts_signals(settings):
        settings = settings | signal_settings(settings["topic.prefix"], broker.address())
    if blocked := lifecycle.group_by_snapshot_kind(connection, tables).get(BLOCKING):
        agree(f"Let changes of all tables of {place.name} wait while the rows of {', '.join(blocked)} are read?", yes)
    new = lifecycle.add_tables(connection, place, settings, tables, click.echo)
    if not new:
        click.echo(f"Connector {place.name} captures them already. For their rows: metl snapshot {place.name} …")
        return
    outcome, _ = lifecycle.snapshot_tables(connection, place, settings, new, click.echo)
    _summed_up(list(outcome.values()))


@capture.command(short_help="Capture tables no more, or nothing of a database.")
@click.argument("prefix")
@click.argument("table", nargs=-1)
@why_option
@yes_option
@kafka_option
def remove(prefix: str, table: tuple[str, ...], why: str, yes: bool, kafka_config: str | None) -> None:
    """Capture TABLEs of connector PREFIX no more; without a TABLE, delete the connector, its slot and publication.

    Changes from then on never come, also if the table is added again later. What has come stays: topics, dead letters
    and the rows of the warehouse. Who did it and why is recorded in metl.operations.
    """
    place = ConnectorRef(connectors.address(), prefix, broker.settings(kafka_config))
    settings = connectors.require_config(place.connect, prefix)
    lifecycle.require_table_list(prefix, settings)
    lifecycle.require_captured(prefix, settings, table)
    known = listed_tables(settings)
    gone = list(table) if table else known
    is_all = not set(known) - set(gone)
    what = "connector, replication slot and publication are deleted" if is_all else "they leave the publication"
    click.echo(f"Changes of {', '.join(gone)} will never come from now on; {what}.")
    click.echo("Topics, dead letters and the rows of the warehouse stay as they are.")
    agree(f"Capture {counted(len(gone), 'table')} of {prefix} no more?", yes)
    with (
        source.connect(settings) as connection,
        operation(address(), "capture_remove", why, {"connector": prefix, "tables": gone}),
    ):
        lifecycle.remove_tables(connection, place, settings, known if is_all else gone)
    click.echo(
        f"Connector {prefix} is gone."
        if is_all
        else f"Connector {prefix} reads {counted(len(set(known) - set(gone)), 'table')} now."
    )


@capture.command("list", short_help="Every connector and its tables.")
@json_option
def list_(as_json: bool) -> None:
    """Every connector, its tables and how it is."""
    found = observe(connectors.address(), _database())
    if as_json:
        print_json([each.as_dict() for each in found])
    elif found:
        print_connectors(found)
    else:
        # Unless nobody answers.
        connectors.list_connectors(connectors.address())
        click.echo("There are no connectors. Make one with: metl capture add PREFIX TABLE …")


@capture.command(short_help="One connector: tables, settings, health.")
@click.argument("prefix")
@json_option
def show(prefix: str, as_json: bool) -> None:
    """Tables, health and settings of connector PREFIX. Passwords are not shown."""
    at = connectors.address()
    settings = connectors.require_config(at, prefix)
    [health] = [each for each in observe(at, _database()) if each.connector == prefix]
    shown = {
        name: "…" if "password" in name and not value.startswith("${") else value for name, value in settings.items()
    }
    if as_json:
        print_json({**health.as_dict(), "settings": shown})
        return
    print_connectors([health])
    print_table(("setting", "value"), sorted(shown.items()))


@capture.command(short_help="What would stand in the way.")
@click.argument("prefix")
@click.argument("table", nargs=-1, required=True)
@dsn_option
@json_option
@click.pass_context
def check(context: click.Context, prefix: str, table: tuple[str, ...], dsn: str | None, as_json: bool) -> None:
    """Check what `metl capture add` checks, and change nothing. Exits with 1 if something would be refused."""
    settings = connectors.find_config(connectors.address(), require_prefix(prefix))
    with _source(prefix, settings, dsn) as connection:
        found = _checked(connection, prefix, table, settings)
    if as_json:
        print_json([asdict(each) for each in found])
    else:
        print_findings(found)
    context.exit(1 if checks.refused(found) else 0)


@capture.command(short_help="Start a connector again that failed.")
@click.argument("prefix")
@click.option("--anew", is_flag=True, help="Forget how far it has read: new slot, new publication, all rows once more.")
@click.option("--why", help="The reason, to be recorded; with --anew.")
@yes_option
@kafka_option
def restart(prefix: str, anew: bool, why: str | None, yes: bool, kafka_config: str | None) -> None:
    """Start connector PREFIX and its tasks again; it goes on where it was.

    Where its slot or publication is gone, that cannot be: --anew makes them again and reads all rows once more. What
    was deleted meanwhile is not noticed.
    """
    place = ConnectorRef(connectors.address(), prefix, broker.settings(kafka_config))
    settings = connectors.require_config(place.connect, prefix)
    if not anew:
        lifecycle.restart(place, settings)
        [health] = [each for each in observe(place.connect, _database(), place.client) if each.connector == prefix]
        if health.problem is not None:
            raise MetlError(f"Connector {prefix} was started again, but: {health.problem} {health.way_out}")
        click.echo(f"Connector {prefix} runs.")
        return
    if not why:
        raise BadInput("--anew is recorded: say why with --why.")
    lifecycle.require_table_list(prefix, settings)
    tables = listed_tables(settings)
    agree(
        f"Let connector {prefix} forget where it was and read all rows of {counted(len(tables), 'table')} again?", yes
    )
    about = {"connector": prefix, "tables": tables}
    with source.connect(settings) as connection, operation(address(), "capture_restart", why, about):
        _summed_up([lifecycle.reset(connection, place, settings, click.echo)])
    click.echo(f"Connector {prefix} runs.")


def _source(prefix: str, settings: dict[str, str] | None, dsn: str | None) -> psycopg.Connection:
    if settings is None:
        given = "--dsn" if dsn else f"METL_DSN (for database {prefix}, as PREFIX says; --dsn names another)"
        return connect(dsn or make_conninfo(address(), dbname=prefix), given)
    lifecycle.require_table_list(prefix, settings)
    connection = connect(dsn, "--dsn") if dsn else source.connect(settings)
    if connection.info.dbname != settings.get("database.dbname"):
        raise BadInput(
            f"Connector {prefix} reads database {settings.get('database.dbname')}, not {connection.info.dbname}. "
            "Choose another PREFIX for it."
        )
    return connection


def _checked(
    connection: psycopg.Connection, prefix: str, tables: tuple[str, ...], settings: dict[str, str] | None
) -> list[Finding]:
    return checks.check(connection, tables, prefix, settings)


def _settings(
    connection: psycopg.Connection, prefix: str, tables: tuple[str, ...], reference: str | None
) -> dict[str, str]:
    home = Home.from_environment()
    postgres, _, registry, _ = parts(home)
    info = connection.info
    if reference is not None and not reference.startswith("${"):
        raise BadInput(
            "--password takes where Kafka Connect finds the password, as ${file:…:…}, and not the password: everybody "
            "on this machine can read command lines, and everybody who reaches Kafka Connect its settings."
        )
    if reference is None and (postgres.is_elsewhere or info.user != OWNER):
        raise BadInput(f"Say with --password where Kafka Connect finds the password of {info.user}, as ${{file:…:…}}.")
    return postgres_source(
        prefix=prefix,
        host=info.host,
        port=info.port,
        database=info.dbname,
        user=info.user,
        password=reference or f"${{file:{home.connect_passwords_file}:{info.user}}}",
        tables=tables,
        registry=registry.address,
        kafka=broker.address(),
    )


def _summed_up(outcome: list[SnapshotResult | None]) -> None:
    if None in outcome:
        click.echo("The connector does not tell how its snapshots go; its task runs.")


def _database() -> str | None:
    """Where what was seen is put, if METL has a database at all."""
    with contextlib.suppress(MetlError):
        return address()
    return None
