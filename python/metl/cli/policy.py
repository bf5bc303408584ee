"""metl policy: how far Auto-Update may go by itself."""

import click
import psycopg

from metl.db.connection import address, autocommit, rows, snapshot, transaction
from metl.errors import BadInput
from metl.matrix import trees
from metl.util.terminal import json_option, moment, print_json, print_table, printable, say

POLICIES = "select schema, entity, policy, set_by, set_at from metl.policies order by schema, entity"
MEANING = {
    "auto": "updates happen, and losses leave a notice",
    "confirm": "an update that would lose cells waits as a plan",
    "freeze": "nothing changes, and nothing is carried over to new versions",
}
COLUMN_POLICIES = """
select entity, entity_attribute, policy, set_by, set_at from metl.column_policies order by entity, entity_attribute
"""
COLUMN_MEANING = {
    "keep": "rows keep what they had when their schema does not feed it any more",
    "clear": "it becomes null in rows whose schema does not feed it any more",
}


@click.group(invoke_without_command=True, short_help="How far Auto-Update may go by itself.")
@click.option("--schema", help="With --entity: the one in force between the two.")
@click.option("--entity", help="With --schema: the one in force between the two.")
@json_option
@click.pass_context
def policy(context: click.Context, schema: str | None, entity: str | None, as_json: bool) -> None:
    """Show the policies that were set: how far Auto-Update may go by itself.

    The most specific one wins; of one for a whole schema and one for a whole entity, the stricter. Where none was set
    it is auto.

    \b
    metl policy
    metl policy --schema shop.customer --entity person     the one in force
    metl policy set confirm --entity person
    metl policy column person email clear     what nothing feeds any more
    """
    if context.invoked_subcommand is not None:
        if schema or entity:
            raise BadInput(f"Give --schema and --entity behind {context.invoked_subcommand}.")
    elif schema is None and entity is None:
        _show(as_json)
    elif schema is None or entity is None:
        raise BadInput("The policy in force is one of a schema and an entity. Give both, --schema and --entity.")
    else:
        _show_in_force(schema, entity, as_json)


def _show(as_json: bool) -> None:
    with snapshot(address()) as connection:
        found = rows(connection, POLICIES)
    if as_json:
        print_json(found)
    elif not found:
        say(f"No policy was set, so that all is auto: {MEANING['auto']}. Change it with: metl policy set confirm")
    else:
        print_table(
            ["schema", "entity", "policy", "by", "at"],
            [
                (
                    "every schema" if each["schema"] is None else each["schema"],
                    "every entity" if each["entity"] is None else each["entity"],
                    each["policy"],
                    each["set_by"],
                    moment(each["set_at"]),
                )
                for each in found
            ],
        )


def _show_in_force(schema: str, entity: str, as_json: bool) -> None:
    with snapshot(address()) as connection:
        _require(connection, schema, entity)
        [[found]] = connection.execute("select metl.policy_of(%s, %s)", [schema, entity]).fetchall()
    if as_json:
        print_json({"schema": schema, "entity": entity, "policy": found})
    else:
        say(f"{_whose(schema, entity)}: {found}. {MEANING[found].capitalize()}.")


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
@json_option
def set_(policy: str, schema: str | None, entity: str | None, as_json: bool) -> None:
    """Set the POLICY of a schema, an entity, one to the other, or of everything.

    \b
    auto      updates happen, and losses leave a notice
    confirm   an update that would lose cells waits as a plan
    freeze    nothing changes, and nothing is carried over to new versions
    \b
    metl policy set confirm                        for everything
    metl policy set freeze --schema shop.customer --entity person
    """
    with transaction(address()) as connection:
        _require(connection, schema, entity)
        connection.execute("select metl.set_policy(%s, %s, %s)", [schema, entity, policy])
    if as_json:
        print_json({"schema": schema, "entity": entity, "policy": policy})
    else:
        say(f"{_whose(schema, entity)}: {policy}. {MEANING[policy].capitalize()}.")


@policy.command()
@click.argument("entity", required=False)
@click.argument("attribute", required=False)
@click.argument("policy", required=False, type=click.Choice(list(COLUMN_MEANING)))
@json_option
def column(entity: str | None, attribute: str | None, policy: str | None, as_json: bool) -> None:
    """Say what becomes of values in the warehouse that nothing feeds any more; without arguments: what was said.

    A schema whose newest version does not feed an ATTRIBUTE of ENTITY leaves values behind in the rows that it brought.
    Which columns that is about is in metl coverage, and in the comments on them.

    \b
    keep      rows keep what they had (the default)
    clear     it becomes null in them; rows of schemas that feed it stay
    \b
    metl policy column person email clear
    """
    if entity is None:
        _show_columns(as_json)
        return
    if attribute is None or policy is None:
        raise BadInput(
            "Give the entity, its attribute and keep or clear, such as: metl policy column person email clear"
        )
    with autocommit(address()) as connection:
        trees.require_entity(connection, entity)
        connection.execute("select metl.set_column_policy(%s, %s, %s)", [entity, attribute, policy])
        # Each call is a transaction of its own, so that merges go on between them.
        while connection.execute("select metl.clear_columns(%s) > 0", [entity]).fetchall() == [(True,)]:
            pass
    if as_json:
        print_json({"entity": entity, "entity_attribute": attribute, "policy": policy})
    else:
        say(f"{printable(entity)}.{printable(attribute)}: {policy}. {COLUMN_MEANING[policy].capitalize()}.")


def _show_columns(as_json: bool) -> None:
    with snapshot(address()) as connection:
        found = rows(connection, COLUMN_POLICIES)
    if as_json:
        print_json(found)
    elif not found:
        say(f"No policy of a column was set, so that all is keep: {COLUMN_MEANING['keep']}.")
    else:
        print_table(
            ["entity", "attribute", "policy", "by", "at"],
            [
                (each["entity"], each["entity_attribute"], each["policy"], each["set_by"], moment(each["set_at"]))
                for each in found
            ],
        )
