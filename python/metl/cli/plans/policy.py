"""The group plans policy: how far Auto-Update may go by itself."""

import click
import psycopg

from metl.cli.options import dry_run_option, json_option, yes_option
from metl.config import database_dsn
from metl.db.connection import autocommit, rows, snapshot, transaction
from metl.matrix import trees
from metl.util.prompts import confirm
from metl.util.terminal import format_time, print_json, print_table, printable, say

POLICIES = "select schema, entity, policy, set_by, set_at from metl.policies order by schema, entity"
MEANING = {
    "auto": "updates happen, and losses leave a notice",
    "confirm": "an update that would lose cells waits as a plan",
    "freeze": "nothing changes, and nothing is carried over to new versions",
}
COLUMN_POLICIES = """
select entity, entity_attribute, policy, set_by, set_at from metl.column_policies order by entity, entity_attribute
"""
SET_COLUMN = "select metl.set_column_policy(%s, %s, %s)"
CLEAR = "select metl.clear_columns(%s) > 0"
COLUMN_MEANING = {
    "keep": "rows keep what they had when their schema does not feed it any more",
    "clear": "it becomes null in rows whose schema does not feed it any more",
}


@click.group(short_help="How far Auto-Update may go by itself.")
def policy() -> None:
    """How far Auto-Update may go by itself, and what becomes of values that nothing feeds any more.

    The most specific policy wins; of one for a whole schema and one for a whole entity, the stricter. Where none was
    set it is auto.

    \b
    metl plans policy list
    metl plans policy show --schema shop.customer --entity person     the one in force
    metl plans policy set confirm --entity person
    metl plans policy set-column person email clear
    """


@policy.command("list", short_help="The policies that were set.")
@json_option
def list_(as_json: bool) -> None:
    """List the policies that were set."""
    with snapshot(database_dsn()) as connection:
        policies = rows(connection, POLICIES)
    if as_json:
        print_json(policies)
    elif not policies:
        say(f"No policy was set, so that all is auto: {MEANING['auto']}. Change it with: metl plans policy set confirm")
    else:
        print_table(
            ["schema", "entity", "policy", "by", "at"],
            [
                (
                    "every schema" if each["schema"] is None else each["schema"],
                    "every entity" if each["entity"] is None else each["entity"],
                    each["policy"],
                    each["set_by"],
                    format_time(each["set_at"]),
                )
                for each in policies
            ],
        )


@policy.command(short_help="The policy in force between a schema and an entity.")
@click.option("--schema", required=True, help="From this schema.")
@click.option("--entity", required=True, help="To this entity.")
@json_option
def show(schema: str, entity: str, as_json: bool) -> None:
    """Show the policy that is in force between a schema and an entity."""
    with snapshot(database_dsn()) as connection:
        _require(connection, schema, entity)
        [[in_force]] = connection.execute("select metl.policy_of(%s, %s)", [schema, entity]).fetchall()
    if as_json:
        print_json({"schema": schema, "entity": entity, "policy": in_force})
    else:
        say(f"{_whose(schema, entity)}: {in_force}. {MEANING[in_force].capitalize()}.")


def _require(connection: psycopg.Connection, schema: str | None, entity: str | None) -> None:
    if schema is not None:
        trees.require_schema(connection, schema)
    if entity is not None:
        trees.require_entity(connection, entity)


def _whose(schema: str | None, entity: str | None) -> str:
    source = "Every schema" if schema is None else f"Schema {printable(schema)}"
    return f"{source} → {'every entity' if entity is None else f'entity {printable(entity)}'}"


@policy.command("set")
@click.argument("policy", type=click.Choice(list(MEANING)))
@click.option("--schema", help="Only for this schema.")
@click.option("--entity", help="Only for this entity.")
@dry_run_option
@json_option
def set_(policy: str, schema: str | None, entity: str | None, dry_run: bool, as_json: bool) -> None:
    """Set the POLICY of a schema, an entity, one to the other, or of everything.

    \b
    auto      updates happen, and losses leave a notice
    confirm   an update that would lose cells waits as a plan
    freeze    nothing changes, and nothing is carried over to new versions
    \b
    metl plans policy set confirm                        for everything
    metl plans policy set freeze --schema shop.customer --entity person
    """
    with transaction(database_dsn()) as connection, connection.transaction(force_rollback=dry_run):
        _require(connection, schema, entity)
        connection.execute("select metl.set_policy(%s, %s, %s)", [schema, entity, policy])
    if as_json:
        print_json({"schema": schema, "entity": entity, "policy": policy, "dry_run": dry_run})
    else:
        say(f"{_whose(schema, entity)}: {policy}. {MEANING[policy].capitalize()}.")
        if dry_run:
            say("Nothing was changed: a dry run.")


@policy.command(short_help="What becomes of values that nothing feeds.")
@json_option
def columns(as_json: bool) -> None:
    """List what was set for the columns of the warehouse that nothing feeds any more."""
    with snapshot(database_dsn()) as connection:
        policies = rows(connection, COLUMN_POLICIES)
    if as_json:
        print_json(policies)
    elif not policies:
        say(f"No policy of a column was set, so that all is keep: {COLUMN_MEANING['keep']}.")
    else:
        print_table(
            ["entity", "attribute", "policy", "by", "at"],
            [
                (each["entity"], each["entity_attribute"], each["policy"], each["set_by"], format_time(each["set_at"]))
                for each in policies
            ],
        )


@policy.command(short_help="Keep or clear values that nothing feeds.")
@click.argument("entity")
@click.argument("attribute")
@click.argument("policy", type=click.Choice(list(COLUMN_MEANING)))
@dry_run_option
@yes_option
@json_option
def set_column(entity: str, attribute: str, policy: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Keep or clear the values of ATTRIBUTE of ENTITY in the warehouse that nothing feeds any more.

    A schema whose newest version does not feed an attribute leaves values behind in the rows that it brought. Which
    columns that is about is in metl entities coverage, and in the comments on them.

    \b
    keep      rows keep what they had (the default)
    clear     it becomes null in them; rows of schemas that feed it stay
    \b
    metl plans policy set-column person email clear
    """
    with autocommit(database_dsn()) as connection:
        trees.require_entity(connection, entity)
        # Refuses what cannot be before anybody is asked, and holds no lock while somebody thinks.
        with connection.transaction(force_rollback=True):
            connection.execute(SET_COLUMN, [entity, attribute, policy])
        if not dry_run:
            if policy == "clear":
                confirm(f"Clear the values of {entity}.{attribute} that nothing feeds any more?", yes)
            connection.execute(SET_COLUMN, [entity, attribute, policy])
        # Each call is a transaction of its own, so that merges go on between them.
        while not dry_run and connection.execute(CLEAR, [entity]).fetchall() == [(True,)]:
            pass
    if as_json:
        print_json({"entity": entity, "entity_attribute": attribute, "policy": policy, "dry_run": dry_run})
    else:
        say(f"{printable(entity)}.{printable(attribute)}: {policy}. {COLUMN_MEANING[policy].capitalize()}.")
        if dry_run:
            say("Nothing was changed: a dry run.")
