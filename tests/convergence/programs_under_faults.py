"""Everything that takes a change from a service into the warehouse, each part of it killed now and then."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from metl.capture import connectors
from metl.demo import programs
from metl.demo.programs import Program
from metl.errors import MetlError
from metl.home import Home
from metl.stack import parts, supervisor

#: The commands that run all the time.
COMMANDS = {
    "sync": ("sync", "--watch"),
    "map": ("map", "--topics", r"(shop|crm)\.public\..*", "--duration", "3"),
    "dead": ("dead-letters", "collect", "--watch"),
    "warehouse": ("warehouse", "--duration", "2"),
}
INTERRUPTED = 130
SERVERS = ("postgres", "kafka", "registry", "connect")


class Programs:
    def __init__(self, home: Home, say: Callable[[str], None]) -> None:
        self.home, self._say = home, say
        self._running: dict[str, Program] = {}
        self.killed = 0

    @contextmanager
    def commands(self) -> Iterator[None]:
        """While they run; those that end by themselves fail."""
        try:
            for name in COMMANDS:
                self._start(name)
            yield
            for program in self._running.values():
                program.require_running()
                program.stop()
        finally:
            for program in self._running.values():
                program.kill()

    def require(self) -> None:
        for program in self._running.values():
            program.require_running()

    def disturb(self, chance: random.Random) -> None:
        """Stops or kills one of them, and starts it again."""
        self.killed += 1
        name = chance.choice([*COMMANDS, *SERVERS])
        if name in COMMANDS:
            is_killed = chance.random() < 0.7
            self._say(f"{'kill' if is_killed else 'stop'} metl {name}")
            if is_killed:
                self._running[name].kill()
            else:
                # One that has not begun its work yet is interrupted, or just ends.
                self._running[name].stop((0, INTERRUPTED, -signal.SIGTERM))
            self._start(name)
            return
        self._say(f"kill {name}")
        wanted = parts(self.home, (name,))
        next(part for part in wanted if part.name == name).daemon.stop(signal.SIGKILL, 20)
        supervisor.up(self.home, wanted, lambda _part, _text: None)

    def mend_connectors(self) -> None:
        """Connect does not start a task again that failed while a server was away: that is for whoever runs it."""
        [connect] = [part.address for part in parts(self.home) if part.name == "connect"]
        try:
            for name, found in connectors.list_connectors(connect).items():
                if connectors.failure_cause(found["status"]) is not None:
                    self._say(f"connector {name} starts again")
                    programs.run(self.home, "capture", "restart", name)
        except (MetlError, AssertionError) as error:
            self._say(f"Connector or Connect is not well yet: {error}")
            time.sleep(1)

    def _start(self, name: str) -> None:
        self._running[name] = Program(self.home, list(COMMANDS[name]), lambda _line: None)
