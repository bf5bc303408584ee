"""Three small services, each with a database and a connector of its own."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from metl.capture import connectors
from metl.capture.publication import await_published
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
        self._server, _, self._registry, self._connect = (part.address for part in parts(home))
        self.name = name
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
        """Lets Debezium read the change log of its tables, those that are new included."""
        server = conninfo_to_dict(self.dsn)
        settings = postgres_source(
            prefix=self.name,
            host=str(server["host"]),
            port=int(str(server["port"])),
            database=self.name,
            user=str(server["user"]),
            password=f"${{file:{self._home.connect_passwords_file}:{server['user']}}}",
            tables=[f"public.{table}" for table in self.tables],
            registry=self._registry,
        )
        connectors.create(self._connect, self.name, settings)
        with psycopg.connect(self.dsn) as connection:
            await_published(connection, self.name, (f"public.{table}" for table in self.tables))

    def add_table(self, table: str, columns: str) -> None:
        self.execute(f"create table {table} ({columns})")
        self.tables.append(table)
        self.capture()

    def execute(self, *statements: str) -> None:
        """In one transaction."""
        with psycopg.connect(self.dsn) as connection:
            for statement in statements:
                connection.execute(statement.encode())


def start(home: Home, rows: dict[str, list[str]]) -> dict[str, Service]:
    """All of them with some rows, captured, at once: a connector takes some seconds to come up."""
    services = {name: Service(home, name) for name in TABLES}
    for name, service in services.items():
        service.create()
        service.execute(*rows[name])
    with ThreadPoolExecutor() as pool:
        list(pool.map(Service.capture, services.values()))
    return services
