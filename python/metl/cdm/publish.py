"""Publishes entity versions to the registry as JSON Schema; published ones are never changed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from metl.cdm.schema import EntityVersion, json_schema
from metl.errors import MetlError
from metl.registry.client import registry_client
from metl.util.http import Client

GROUP = "metl.cdm"
#: The label with the digest of the entity version.
DIGEST = "metl-digest"
PAGE = 500
API = ("apis", "registry", "v3")


@dataclass(frozen=True)
class Published:
    #: Published now.
    new: list[EntityVersion]
    #: Those for which the registry has other content under the same number.
    different: list[EntityVersion]


def publish(registry: str, versions: Sequence[EntityVersion], *, dry_run: bool = False) -> Published:
    """In ascending order: the registry's latest version is the last one created."""
    with registry_client(registry) as client:
        published = _digests(client)
        missing = [each for each in versions if (each.artifact, str(each.version)) not in published]
        for each in [] if dry_run else missing:
            _create(client, each)
    return Published(
        missing,
        [each for each in versions if published.get((each.artifact, str(each.version)), each.digest) != each.digest],
    )


def _digests(registry: Client) -> dict[tuple[str, str], str]:
    """The digest of each published version; empty if it is not METL's."""
    digests: dict[tuple[str, str], str] = {}
    offset = 0
    while True:
        page = registry.json(*API, "search", "versions", groupId=GROUP, limit=PAGE, offset=offset, orderby="globalId")
        try:
            for each in page["versions"]:
                digests[each["artifactId"], each["version"]] = (each.get("labels") or {}).get(DIGEST, "")
            offset += len(page["versions"])
            if offset >= page["count"] or not page["versions"]:
                return digests
        except (KeyError, TypeError):
            raise MetlError(f"{registry.url} does not answer as an Apicurio registry does.") from None


def _create(registry: Client, version: EntityVersion) -> None:
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
    # Idempotent: a request without an answer may have arrived.
    query: dict[str, object] = {"ifExists": "FIND_OR_CREATE_VERSION"}
    registry.request("POST", *API, "groups", GROUP, "artifacts", query=query, body=body)
