"""A stack with two services, captured by the command line."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from metl.home import Home
from metl.stack.postgres import ADMIN, Postgres
from tests.stack.conftest import Metl

SHOP = """
create table customer (id int primary key, name text);
insert into customer select number, 'name ' || number from generate_series(1, 30) as number;
create table payment (id int, at timestamptz, amount numeric, primary key (id, at)) partition by range (at);
create table payment_2020 partition of payment for values from ('2020-01-01') to ('2021-01-01');
create table payment_2021 partition of payment for values from ('2021-01-01') to ('2022-01-01');
insert into payment select number, timestamptz '2020-01-01' + number * interval '1 hour', number
from generate_series(1, 5000) as number;
create table product (
    id int primary key, price int, gross int generated always as (price * 2) stored,
    net int generated always as (price) virtual
);
insert into product values (1, 5), (2, 6);
create table tally (id int primary key, twice int generated always as (id * 2) stored, note text, other text);
insert into tally values (1, default, 'a', 'b');
create table "Odd; Näme" (id int primary key);
create table "Odd, Näme" (id int primary key, note text);
create table heap (a int);
create view everybody as select * from customer;
"""


class Stack(Metl):
    def dsn(self, database: str, user: str | None = None) -> str:
        postgres = Postgres(Home(self.home))
        return make_conninfo(postgres.dsn(user, database) if user else postgres.local_address, dbname=database)

    def execute(self, database: str, *statements: str, user: str | None = None) -> None:
        with psycopg.connect(self.dsn(database, user), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def ask(self, query: str, database: str = "metl") -> list[tuple[object, ...]]:
        with psycopg.connect(self.dsn(database)) as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("capture") / "home")
    stack("up")
    try:
        stack("install")
        stack.execute("metl", "create database shop")
        stack.execute("shop", SHOP)
        # Its own role, so that a test can change the password.
        stack.execute("postgres", "create role crm login replication password 'one'", user=ADMIN)
        stack.execute("postgres", "create database crm owner crm", user=ADMIN)
        yield stack
    finally:
        stack("down")
