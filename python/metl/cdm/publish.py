"""Entity versions in the registry, as JSON Schema; what is there already stays as it is."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metl import config
from metl.cdm.schema import EntityVersion, json_schema
from metl.errors import MetlError
from metl.util import rest
from metl.util.urls import without_password

GROUP = "metl.cdm"
#: In the labels of a version: what it was made of.
DIGEST = "metl-digest"
PAGE = 500
PAUSES = (0.5, 1.0)


@dataclass(frozen=True)
class Published:
    #: Those that were missing.
    new: list[EntityVersion]
    #: Those of which the registry has something else under the same number.
    different: list[EntityVersion]


address = config.registry_url


def publish(registry: str, versions: Sequence[EntityVersion]) -> Published:
    """In ascending order, so that the registry takes the highest version for the latest."""
    known = _known(registry)
    missing = [each for each in versions if (each.artifact, str(each.version)) not in known]
    for each in missing:
        _create(registry, each)
    return Published(
        missing,
        [each for each in versions if known.get((each.artifact, str(each.version)), each.digest) != each.digest],
    )


def _known(registry: str) -> dict[tuple[str, str], str]:
    """The digest of each version that is there; empty if somebody else put it there."""
    found: dict[tuple[str, str], str] = {}
    offset = 0
    while True:
        query = f"groupId={GROUP}&limit={PAGE}&offset={offset}&orderby=globalId"
        page = _request("GET", f"{registry}/apis/registry/v3/search/versions?{query}")
        try:
            for each in page["versions"]:
                found[each["artifactId"], each["version"]] = (each.get("labels") or {}).get(DIGEST, "")
            offset += len(page["versions"])
            if offset >= page["count"] or not page["versions"]:
                return found
        except (KeyError, TypeError):
            raise MetlError(f"{without_password(registry)} does not answer as an Apicurio registry does.") from None


def _create(registry: str, version: EntityVersion) -> None:
    body = {
        "artifactId": version.artifact,
        "artifactType": "JSON",
        "firstVersion": {
            "version": str(version.version),
            "content": {
                "content": json.dumps(json_schema(version), ensure_ascii=False),
                "contentType": "application/json",
            },
            "labels": {DIGEST: version.digest},
        },
    }
    # Finding instead of failing: an attempt that got no answer may have arrived all the same.
    url = f"{registry}/apis/registry/v3/groups/{GROUP}/artifacts?ifExists=FIND_OR_CREATE_VERSION"
    _request("POST", url, body)


def _request(method: str, url: str, body: object = None) -> Any:
    for pause in (*PAUSES, None):
        try:
            return rest.request(method, url, body)
        except rest.RestError as error:
            passes = error.status is None or error.status >= 500 or error.status == 429
            if pause is None or not passes:
                raise
            time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")
