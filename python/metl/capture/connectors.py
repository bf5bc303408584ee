"""Kafka Connect's REST API: create, inspect, restart and delete connectors."""

import time
from typing import Any
from urllib.parse import quote

from metl.capture.causes import first_cause
from metl.capture.plugin import CONVERTER_CLASS
from metl.errors import BadInput, MetlError, PartFailed
from metl.util import http
from metl.util.nearest import nearest

RUNNING_TIMEOUT = 60.0
REST_TIMEOUT = 60.0
POLL_INTERVAL = 0.2
#: From the worst to the best. The state shown is the worst of a connector and its tasks.
STATES = ("FAILED", "UNASSIGNED", "STOPPED", "PAUSED", "RESTARTING", "RUNNING")


def request(method: str, address: str, body: object = None, timeout: float = REST_TIMEOUT) -> Any:
    """The answer of Kafka Connect. Retries on 409, which it gives while its workers rebalance."""
    end = time.monotonic() + timeout
    while True:
        try:
            return http.request(method, address, body, timeout)
        except http.RestError as error:
            if error.status is None:
                raise PartFailed(
                    f"Kafka Connect does not answer: {error}. Is METL_CONNECT right, or the local one up "
                    "(`metl up connect`)?"
                ) from None
            if error.status == 404 and "/connectors/" not in address.partition("?")[0]:
                raise PartFailed(f"What answers is no Kafka Connect: {error}. Is METL_CONNECT right?") from None
            if error.status != 409 or time.monotonic() > end:
                raise
        time.sleep(POLL_INTERVAL)


def url(connect: str, name: str, *path: str) -> str:
    """Of a connector, whose name may contain any character."""
    return "/".join((connect, "connectors", quote(name, safe=""), *path))


def list_connectors(connect: str) -> dict[str, dict[str, Any]]:
    """Each connector's `info` and `status`."""
    by_name: dict[str, dict[str, Any]] = request("GET", f"{connect}/connectors?expand=info&expand=status", timeout=5)
    return by_name


def find_config(connect: str, name: str) -> dict[str, str] | None:
    """The settings of a connector; null if there is none of this name."""
    try:
        settings: dict[str, str] = request("GET", url(connect, name, "config"))
    except http.RestError as error:
        if error.status == 404:
            return None
        raise
    return settings


def require_config(connect: str, name: str) -> dict[str, str]:
    settings = find_config(connect, name)
    if settings is None:
        names = request("GET", f"{connect}/connectors")
        raise BadInput(f"There is no connector {name!r}.{nearest(name, names)}")
    return settings


def create(connect: str, name: str, settings: dict[str, str]) -> None:
    """Creates or changes a connector and waits until its task runs."""
    put(connect, name, settings)
    await_running(connect, name)


def put(connect: str, name: str, settings: dict[str, str]) -> None:
    try:
        request("PUT", url(connect, name, "config"), settings)
    except http.RestError as error:
        if error.status == 500:
            # Kafka Connect drops the reason that Debezium gave when it tested the connection.
            raise BadInput(
                f"Connector {name} cannot log in to {settings.get('database.dbname')} as "
                f"{settings.get('database.user')} with the password in its settings "
                "(--password), or cannot reach it. `metl stack logs connect` has the reason."
            ) from None
        if error.status != 400:
            raise
        # Debezium has validated the settings: the message names each wrong one.
        raise BadInput(f"Connector {name} does not take its settings: {error}") from None


def await_running(connect: str, name: str) -> None:
    end = time.monotonic() + RUNNING_TIMEOUT
    while True:
        current = status(connect, name)
        require_alive(name, current)
        if state(current) == "RUNNING" and current["tasks"]:
            return
        if time.monotonic() > end:
            raise PartFailed(f"Connector {name} does not run after {RUNNING_TIMEOUT:.0f} s: it is {state(current)}.")
        time.sleep(POLL_INTERVAL)


def status(connect: str, name: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = request("GET", url(connect, name, "status"))
    except http.RestError as error:
        # A new connector has no status yet.
        if error.status == 404:
            return {"connector": {"state": "UNASSIGNED"}, "tasks": []}
        raise
    return answer


def state(status: dict[str, Any]) -> str:
    """The worst of connector and tasks."""
    states = {str(part["state"]) for part in (status["connector"], *status["tasks"])}
    return min(states, key=lambda each: STATES.index(each) if each in STATES else 0)


def failure_traces(status: dict[str, Any]) -> set[str]:
    """Stack traces of failed parts, which distinguish a new failure from an old one."""
    return {part.get("trace", "") for part in (status["connector"], *status["tasks"]) if part["state"] == "FAILED"}


def failure_cause(status: dict[str, Any]) -> str | None:
    """Of the connector or one of its tasks; null if none has failed."""
    failed = [part for part in (status["connector"], *status["tasks"]) if part["state"] == "FAILED"]
    return part_failure(failed[-1]) if failed else None


def part_failure(part: dict[str, Any]) -> str:
    """The root cause of a failed connector or task."""
    trace = part.get("trace", "")
    if f"ClassNotFoundException: {CONVERTER_CLASS}" in trace:
        return (
            f"Kafka Connect does not have METL's converter, {CONVERTER_CLASS}: its plugin folder must have what "
            "`metl stack fetch debezium converter --to FOLDER` puts there"
        )
    return first_cause(trace)


def require_alive(name: str, status: dict[str, Any]) -> None:
    cause = failure_cause(status)
    if cause is not None:
        raise MetlError(
            f"Connector {name} failed: {cause}. Mend that, then: metl capture restart {name}. "
            f"`metl status` shows whether it goes on."
        )


def restart(connect: str, name: str) -> None:
    """Also resumes one that was paused or stopped."""
    request("PUT", url(connect, name, "resume"))
    request("POST", url(connect, name, "restart?includeTasks=true"))


def forget_offsets(connect: str, name: str) -> None:
    """Stops it and deletes its source offsets: its next start takes an initial snapshot."""
    request("PUT", url(connect, name, "stop"))
    end = time.monotonic() + RUNNING_TIMEOUT
    while True:
        try:
            request("DELETE", url(connect, name, "offsets"))
            return
        except http.RestError as error:
            # Until its task has stopped, Kafka Connect refuses.
            if error.status not in (400, 500) or time.monotonic() > end:
                raise
        time.sleep(POLL_INTERVAL)


def delete(connect: str, name: str) -> None:
    request("DELETE", url(connect, name))
