"""Three small services, each with a database and a connector of its own."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from metl.capture import connectors, lifecycle
from metl.capture.lifecycle import ConnectorRef
from metl.capture.settings import postgres_source
from metl.home import Home
from metl.stack import parts

TABLES = {
    "shop": {
        "customer": "id int primary key, name text, email text, note text",
        "orders": "id int primary key, customer_id int, total numeric",
    },
    "crm": {"contact": "id int primary key, full_name text, mail text"},
    "billing": {"invoice": "id int primary key, order_id int, amount numeric, paid boolean"},
}


class Service:
    """A microservice: its database, and the tables of it that are captured."""

    def __init__(self, home: Home, name: str) -> None:
        self._home = home
        self._server, self._kafka, self._registry, self._connect = (part.address for part in parts(home))
        self.name = name
        self._connector = ConnectorRef(self._connect, name, {"bootstrap.servers": self._kafka, "log_level": 0})
        self.dsn = make_conninfo(self._server, dbname=name)
        self.tables = list(TABLES[name])

    def topic(self, table: str) -> str:
        return f"{self.name}.public.{table}"

    def topics(self) -> list[str]:
        return [self.topic(table) for table in self.tables]

    def create(self) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(self.name)))
        for table, columns in TABLES[self.name].items():
            self.execute(f"create table {table} ({columns})")

    def capture(self) -> None:
        """Starts a Debezium connector: a snapshot of the rows, then the change log."""
        server = conninfo_to_dict(self.dsn)
        tables = [f"public.{table}" for table in self.tables]
        settings = postgres_source(
            prefix=self.name,
            host=str(server["host"]),
            port=int(str(server["port"])),
            database=self.name,
            user=str(server["user"]),
            password=f"${{file:{self._home.connect_passwords_file}:{server['user']}}}",
            tables=tables,
            registry=self._registry,
            kafka=self._kafka,
        )
        with psycopg.connect(self.dsn) as connection:
            lifecycle.create(connection, self._connector, settings, tables, lambda _: None)

    def add_table(self, table: str, columns: str) -> None:
        self.execute(f"create table {table} ({columns})")
        self.tables.append(table)
        settings = connectors.require_config(self._connect, self.name)
        with psycopg.connect(self.dsn) as connection:
            lifecycle.add_tables(connection, self._connector, settings, [f"public.{table}"], lambda _: None)

    def execute(self, *statements: str) -> None:
        """In one transaction."""
        with psycopg.connect(self.dsn) as connection:
            for statement in statements:
                connection.execute(statement.encode())


def start(home: Home, rows: dict[str, list[str]]) -> dict[str, Service]:
    """Create and capture all services concurrently: a connector takes some seconds to start."""
    services = {name: Service(home, name) for name in TABLES}
    for name, service in services.items():
        service.create()
        service.execute(*rows[name])
    with ThreadPoolExecutor() as pool:
        list(pool.map(Service.capture, services.values()))
    return services
