"""Every METL_* variable, and where every server is: what the environment names, or else the local stack's.

Only this module reads METL_* variables. A client asks it for an address and works the same whether the local stack or
somebody else runs that server.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from metl.errors import BadInput
from metl.home import SPARE_PORTS, Home, is_port
from metl.util.urls import is_http, without_password

#: The roles and the database of the local stack; sql/roles.sql makes them.
OWNER = "metl_owner"
MAPPER = "metl_mapper"
DATABASE_NAME = "metl"


@dataclass(frozen=True)
class Server:
    """A server that METL is a client of."""

    #: As `metl up` names it.
    name: str
    title: str
    #: The variable that names one elsewhere.
    variable: str
    #: The ports that the local one takes when they are free, its own first; docker-compose.yml publishes that one too.
    ports: dict[str, int]
    #: The address of the local one.
    local: Callable[[Home], str]
    #: What documentation appends to the address.
    suffix: str = ""

    def given(self) -> str | None:
        return os.environ.get(self.variable, "").rstrip("/").removesuffix(self.suffix) or None

    def is_elsewhere(self, home: Home) -> bool:
        """Whether the environment names another one. `eval "$(metl stack env)"` names the local one, which is none."""
        given = self.given()
        return given is not None and given != self.local(home)

    def address(self, home: Home) -> str:
        """Also of a local one that was never started."""
        return self.given() or self.local(home)

    def find(self) -> str | None:
        """The address, if there is one: named, or of a local one that was started once."""
        return self.given() or (self.local(home()) if home().port(self.name) else None)

    def require(self) -> str:
        found = self.find()
        if found is None:
            raise BadInput(
                f"There is no {self.title} yet. Start a local one with `metl up {self.name}`, or set {self.variable}."
            )
        return found


def local_dsn(home: Home, user: str = OWNER, database: str = DATABASE_NAME) -> str:
    """Names the password's file instead of holding the password."""
    port, passfile = home.port("postgres"), str(home.path / "pgpass")
    return make_conninfo(host="127.0.0.1", port=port, dbname=database, user=user, passfile=passfile)


def _local_url(name: str) -> Callable[[Home], str]:
    return lambda home: f"http://127.0.0.1:{home.port(name)}"


DATABASE = Server("postgres", "database", "METL_DSN", {"postgres": 5432}, local_dsn)
KAFKA = Server(
    "kafka",
    "Kafka",
    "METL_KAFKA",
    {"kafka": 9092, "kafka_controller": 9093},
    lambda home: f"127.0.0.1:{home.port('kafka')}",
)
REGISTRY = Server(
    "registry",
    "registry",
    "METL_REGISTRY",
    {"registry": 8080, "registry_management": 9000},
    _local_url("registry"),
    suffix="/apis/registry/v3",
)
CONNECT = Server("connect", "Kafka Connect", "METL_CONNECT", {"connect": 8083}, _local_url("connect"))
SERVERS = (DATABASE, KAFKA, REGISTRY, CONNECT)

JOB_DSN = "METL_JOB_DSN"
SOURCE_DSN = "METL_SOURCE_DSN"
KAFKA_CONFIG = "METL_KAFKA_CONFIG"
SPARK_LOG = "METL_SPARK_LOG"


def port_variable(port: str) -> str:
    return f"METL_{port.upper()}_PORT"


@dataclass(frozen=True)
class Variable:
    name: str
    purpose: str
    #: What holds without it; empty where nothing does.
    default: str = ""


#: For whoever runs METL.
VARIABLES = (
    Variable("METL_HOME", "Data of the local stack.", ".metl in this folder"),
    Variable("METL_CACHE", "Downloaded jars.", "~/.cache/metl"),
    Variable(DATABASE.variable, "A PostgreSQL to use instead of the local one."),
    Variable(JOB_DSN, "The same as a member of metl_job, for jobs such as `metl map`."),
    Variable(SOURCE_DSN, "The database that captured tables are in, to read their rows.", "the connector's own"),
    Variable(KAFKA.variable, "A Kafka to use instead, host:port."),
    Variable(KAFKA_CONFIG, "File of Kafka client properties (TLS, SASL)."),
    Variable(REGISTRY.variable, "An Apicurio registry to use instead, http://host:port."),
    Variable(CONNECT.variable, "A Kafka Connect to use instead, http://host:port."),
    *(
        Variable(port_variable(port), f"A port of the local {server.title}.", f"{preferred}, or else a free one; kept")
        for server in SERVERS
        for port, preferred in server.ports.items()
    ),
    Variable("METL_PORTS", "Range from which free ports are chosen, such as 21000-21999.", "20000-29999"),
    Variable(SPARK_LOG, "Log level of Spark, such as WARN.", "OFF"),
)
#: For docker-compose.yml and sql/roles.sql.
DEPLOYMENT_VARIABLES = (
    Variable("METL_PASSWORD", "The password that metl_owner is to have."),
    Variable("METL_MAPPER_PASSWORD", "The password that metl_mapper is to have.", "none: it cannot log in"),
    Variable("METL_PLUGINS", "Folder with Debezium and the converters for Kafka Connect.", ".metl/plugins"),
    Variable("METL_SPARK_PORT", "Port of the Spark master.", "7077"),
    Variable("METL_SPARK_UI_PORT", "Port of the Spark master's web pages.", "8081"),
)
#: For tests and benchmarks.
TEST_VARIABLES = (
    Variable("METL_SOAK", "Seconds that the convergence test goes on.", "45"),
    Variable("METL_SEED", "Seed of the random tests.", "1"),
    Variable("METL_MESSAGES", "How many messages tests and benchmarks map."),
    Variable("METL_HISTORIES", "How many random histories of the matrix are checked.", "60"),
    Variable("METL_CONCURRENCY_SECONDS", "Seconds that concurrent writers go on.", "15"),
    Variable("METL_TEST_MARK", "Set by a test on processes that it must find again."),
)


def home() -> Home:
    return Home(Path(os.environ.get("METL_HOME") or ".metl"))


def cache_folder() -> Path:
    if "METL_CACHE" in os.environ:
        return Path(os.environ["METL_CACHE"]).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metl"


def database_dsn() -> str:
    return DATABASE.require()


def job_variable() -> str:
    """The one that says what jobs log in with."""
    return JOB_DSN if os.environ.get(JOB_DSN) else DATABASE.variable


def job_dsn() -> str:
    if not os.environ.get(JOB_DSN) and DATABASE.find() is None:
        raise BadInput(
            f"There is no database. Set {JOB_DSN} or {DATABASE.variable}, or start a local one: metl up postgres"
        )
    return job_dsn_in(home())


def job_dsn_in(home: Home) -> str:
    """METL_JOB_DSN, or else METL_DSN if that is elsewhere, or else the jobs' own role in the local database."""
    given = os.environ.get(JOB_DSN)
    return given or (DATABASE.address(home) if DATABASE.is_elsewhere(home) else local_dsn(home, MAPPER))


def source_dsn() -> str | None:
    return os.environ.get(SOURCE_DSN)


def kafka_servers() -> str:
    return KAFKA.require()


def kafka_config() -> str | None:
    """The file of client properties."""
    return os.environ.get(KAFKA_CONFIG)


def registry_url() -> str:
    url = REGISTRY.require()
    require_registry_url(url)
    return url


def connect_url() -> str:
    return CONNECT.require()


def spark_log_level() -> str | None:
    return os.environ.get(SPARK_LOG)


def require_registry_url(url: str) -> None:
    if not is_http(url):
        raise BadInput(
            f"{without_password(url)!r} is not the address of a registry. Set METL_REGISTRY to http://host:port."
        )


def choose_ports(home: Home, server: Server) -> None:
    """METL_<NAME>_PORT, or else the one of last time, or else a free one; remembered."""
    for port, preferred in server.ports.items():
        choose_port(home, port, preferred)


def choose_port(home: Home, name: str, preferred: int) -> None:
    home.choose_port(name, preferred, given=_port(port_variable(name)), within=port_range())


def _port(variable: str) -> int | None:
    given = os.environ.get(variable)
    if given is not None and not is_port(given):
        raise BadInput(f"{variable}={given} is not a port. Set it to a number from 1 to 65535.")
    return None if given is None else int(given)


def port_range() -> range:
    """METL_PORTS=21000-21999 keeps two stacks that start at the same moment from choosing the same port."""
    given = os.environ.get("METL_PORTS")
    if not given:
        return SPARE_PORTS
    first, _, last = given.partition("-")
    if not (is_port(first) and is_port(last) and int(first) <= int(last)):
        raise BadInput(f"METL_PORTS={given} is not a range of ports. Set it to two numbers, such as 21000-21999.")
    return range(int(first), int(last) + 1)
