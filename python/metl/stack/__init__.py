"""The local stack: real PostgreSQL, Kafka, registry and Connect as processes of this machine."""

from metl.errors import BadInput
from metl.home import Home
from metl.stack.connect import Connect
from metl.stack.kafka import Kafka
from metl.stack.part import Part
from metl.stack.postgres import Postgres
from metl.stack.registry import Registry

KINDS: tuple[type[Part], ...] = (Postgres, Kafka, Registry, Connect)


def parts(home: Home, names: tuple[str, ...] = ()) -> list[Part]:
    """The named parts and those they need; all of them if none is named."""
    kinds = {kind.name: kind for kind in KINDS}
    unknown = [name for name in names if name not in kinds]
    if unknown:
        raise BadInput(f"There is no part {unknown[0]!r}. The parts are {', '.join(kinds)}.")
    wanted = set(names or kinds)
    for name in list(wanted):
        wanted |= set(kinds[name].needs)
    return [kind(home) for kind in KINDS if kind.name in wanted]
