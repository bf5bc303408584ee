"""metl capture check, metl capture add: tables whose changes are to be captured."""

from collections.abc import Callable
from dataclasses import asdict

import click
import psycopg

from metl import config
from metl.capture import checks, connectors, lifecycle
from metl.capture.lifecycle import ConnectorRef
from metl.capture.names import require_prefix
from metl.capture.settings import postgres_source, signal_settings
from metl.capture.snapshots import BLOCKING, SnapshotResult, accepts_signals
from metl.cli.capture.display import print_findings, warn_of_silence
from metl.cli.capture.source import connected, database_option
from metl.cli.options import dry_run_option, json_option, kafka_config_option, yes_option
from metl.cli.output import EXIT_NO
from metl.config import OWNER, connect_url, kafka_servers
from metl.errors import BadInput, Interrupted
from metl.streams import broker
from metl.util.prompts import confirm
from metl.util.terminal import print_json


@click.command(short_help="What would stand in the way.")
@click.argument("prefix")
@click.argument("table", nargs=-1, required=True)
@database_option
@json_option
@click.pass_context
def check(context: click.Context, prefix: str, table: tuple[str, ...], source: str | None, as_json: bool) -> None:
    """Check what `metl capture add` checks, and change nothing. Exits with 3 if something would be refused.

    \b
    metl capture check shop public.customer public.orders
    """
    settings = connectors.find_config(connect_url(), require_prefix(prefix))
    with connected(prefix, settings, source) as connection:
        findings = checks.check(connection, table, prefix, settings)
    if as_json:
        print_json([asdict(each) for each in findings])
    else:
        print_findings(findings)
    context.exit(EXIT_NO if checks.refused(findings) else 0)


@click.command(short_help="Capture tables, also of a connector that runs.")
@click.argument("prefix")
@click.argument("table", nargs=-1, required=True)
@database_option
@click.option(
    "--secret",
    metavar="REFERENCE",
    help="Where Kafka Connect finds the password: ${file:…:…}. That of the local stack has metl_owner's.",
)
@dry_run_option
@yes_option
@kafka_config_option
@json_option
def add(
    prefix: str, table: tuple[str, ...], source: str | None, secret: str | None, dry_run: bool, yes: bool,
    kafka_config: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Capture TABLEs (schema.table): make connector PREFIX, or add them to it.

    What could go wrong is checked before anything is changed. The rows that are there are read first, and the command
    waits for them; other tables and settings of a connector stay as they are.

    \b
    metl capture add shop public.customer public.orders
    METL_SOURCE_DSN='host=db dbname=crm user=debezium' metl capture add crm public.person --secret '${file:…:…}'
    """
    place = ConnectorRef(connect_url(), require_prefix(prefix), broker.settings(kafka_config))
    settings = connectors.find_config(place.connect, prefix)

    def report(text: str) -> None:
        click.echo(text, err=as_json)

    with connected(prefix, settings, source) as connection:
        findings = checks.check(connection, table, prefix, settings)
        if not as_json:
            print_findings(findings)
        if checks.refused(findings):
            raise BadInput(f"Nothing was changed: see what is refused. metl capture check {prefix} … shows it alone.")
        database = connection.info.dbname
        if settings is not None and secret is not None:
            raise BadInput(f"Connector {prefix} has its password already; --secret is for a new one.")
        new = _settings(connection, prefix, table, secret) if settings is None else None
        if not dry_run:
            try:
                if new is not None:
                    warn_of_silence([lifecycle.create(connection, place, new, table, report)], report)
                else:
                    _add(connection, place, settings or {}, table, yes, report)
            except KeyboardInterrupt:
                raise Interrupted(
                    f"Interrupted. Connector {prefix} goes on with what it was asked for: metl capture show {prefix} "
                    f"shows it, metl capture remove {prefix} … takes it back."
                ) from None
    if as_json:
        answer = {"connector": prefix, "database": database, "tables": list(table), "dry_run": dry_run}
        print_json(answer | {"findings": [asdict(each) for each in findings]})
    elif dry_run:
        what = "be made" if new is not None else "get them"
        click.echo(f"Nothing was changed: a dry run. Connector {prefix} of database {database} would {what}.")
    else:
        click.echo(f"Debezium reads {', '.join(table)} of database {database} into topics {prefix}.*.")


def _add(
    connection: psycopg.Connection, place: ConnectorRef, settings: dict[str, str], tables: tuple[str, ...], yes: bool,
    report: Callable[[str], None],
) -> None:  # fmt: skip
    if not accepts_signals(settings):
        settings = settings | signal_settings(settings["topic.prefix"], kafka_servers())
    if blocked := lifecycle.group_by_snapshot_kind(connection, tables).get(BLOCKING):
        confirm(f"Let changes of all tables of {place.name} wait while the rows of {', '.join(blocked)} are read?", yes)
    new = lifecycle.add_tables(connection, place, settings, tables, report)
    if not new:
        report(f"Connector {place.name} captures them already. For their rows: metl capture snapshot {place.name} …")
        return
    outcome, _ = lifecycle.snapshot_tables(connection, place, settings, new, report)
    scans: list[SnapshotResult | None] = list(outcome.values())
    warn_of_silence(scans, report)


def _settings(
    connection: psycopg.Connection, prefix: str, tables: tuple[str, ...], secret: str | None
) -> dict[str, str]:
    home = config.home()
    info = connection.info
    if secret is not None and not secret.startswith("${"):
        raise BadInput(
            "--secret takes where Kafka Connect finds the password, as ${file:…:…}, and not the password: everybody "
            "on this machine can read command lines, and everybody who reaches Kafka Connect its settings."
        )
    if secret is None and (config.DATABASE.is_elsewhere(home) or info.user != OWNER):
        raise BadInput(f"Say with --secret where Kafka Connect finds the password of {info.user}, as ${{file:…:…}}.")
    return postgres_source(
        prefix=prefix,
        host=info.host,
        port=info.port,
        database=info.dbname,
        user=info.user,
        password=secret or f"${{file:{home.connect_passwords_file}:{info.user}}}",
        tables=tables,
        registry=config.REGISTRY.address(home),
        kafka=kafka_servers(),
    )
