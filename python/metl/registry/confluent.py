"""Registries that speak Confluent's API. They say neither when something changed nor in which order."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from metl.registry.listing import Content, Garbled, Reading, Version
from metl.util.http import Client, Refused

PAGE = 1000
THREADS = 4
#: Subject, or version, not found.
NOT_FOUND = (40401, 40402)
DEFAULT = "default"
#: References of references may go round in circles.
MOST = 1000


class Confluent:
    """A context is what Apicurio calls a group; without one it is called `default` here as there."""

    def __init__(self, http: Client) -> None:
        self._http = http

    def everything(self, group: str | None) -> Reading:
        prefix = None if group in (None, DEFAULT) else f":.{group}:"
        versions = self._at_once(prefix)
        requests = 1 + len(versions or []) // PAGE
        if versions is None:
            versions = self._subject_by_subject(prefix)
            requests = 1 + len({each.artifact for each in versions})
        wanted = [each for each in versions if group in (None, each.group)]
        return Reading(wanted, len(wanted), None, is_whole=True, requests=requests)

    def changes(self, group: str | None, since: datetime) -> Reading:
        raise AssertionError(f"nobody told that {group} was read until {since}")

    def content(self, version: Version) -> Content:
        found = self._http.json("subjects", _subject(version), "versions", version.version)
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str) or "id" not in found:
            raise Garbled(f"Version {version.version} of {version.artifact} has no schema: {str(found)[:200]}")
        refs = {"confluent_id": found["id"], **({"confluent_guid": found["guid"]} if found.get("guid") else {})}
        return Content(found.get("schemaType") or "AVRO", found["schema"], refs, {"": found.get("references")})

    def references(self, content: Content) -> dict[str, str]:
        found: dict[str, str] = {}
        todo = list(content.references[""] or [])
        try:
            while todo and len(found) < MOST:
                each = todo.pop(0)
                if each["name"] not in found:
                    answer = self._http.json("subjects", each["subject"], "versions", str(each["version"]))
                    found[each["name"]] = answer["schema"]
                    todo += answer.get("references") or []
        except (KeyError, TypeError):
            raise Garbled(f"The registry has references that METL does not understand: {str(todo)[:300]}") from None
        return found

    def is_gone(self, version: Version) -> bool:
        try:
            found = self._http.json("subjects", _subject(version), "versions", version.version)
        except Refused as refusal:
            said = refusal.body.get("error_code") if isinstance(refusal.body, dict) else None
            if refusal.status == 404 and said in NOT_FOUND:
                return True
            raise
        return isinstance(found, dict) and found.get("id") not in (None, version.confluent_id)

    def abort(self) -> None:
        self._http.abort()

    def close(self) -> None:
        self._http.close()

    def _at_once(self, prefix: str | None) -> list[Version] | None:
        """With one request for each thousand versions; None if this registry does not say enough there."""
        found: dict[tuple[str, int], Version] = {}
        while True:
            try:
                page = self._http.json("schemas", subjectPrefix=prefix, offset=len(found), limit=PAGE)
            except Refused as refusal:
                if refusal.status in (404, 405):
                    return None
                raise
            if not isinstance(page, list):
                raise Garbled(f"The registry does not say which schemas it has: {str(page)[:100]}")
            if not all(isinstance(each, dict) and {"subject", "version", "id"} <= each.keys() for each in page):
                return None
            before = len(found)
            found |= {(each["subject"], each["version"]): _version(each) for each in page}
            # Some give everything at once, again and again.
            if len(page) < PAGE or len(found) == before:
                return list(found.values())

    def _subject_by_subject(self, prefix: str | None) -> list[Version]:
        subjects = self._http.json("subjects", subjectPrefix=prefix)
        if not isinstance(subjects, list):
            raise Garbled(f"The registry does not say which subjects it has: {str(subjects)[:100]}")

        def versions(subject: str) -> list[Version]:
            try:
                numbers = self._http.json("subjects", subject, "versions")
            except Refused as refusal:
                if refusal.status == 404:
                    return []
                raise
            return [_version({"subject": subject, "version": number}) for number in numbers]

        with ThreadPoolExecutor(THREADS) as pool:
            return [each for found in pool.map(versions, subjects) for each in found]


def _version(found: dict[str, Any]) -> Version:
    try:
        group, artifact = DEFAULT, found["subject"]
        if artifact.startswith(":.") and ":" in artifact[2:]:
            group, _, artifact = artifact[2:].partition(":")
        return Version(
            group=group or DEFAULT,
            artifact=artifact,
            version=str(found["version"]),
            # Where it is not told here, the content says.
            type=found.get("schemaType", "AVRO") if "id" in found else None,
            position=int(found["version"]),
            confluent_id=found.get("id"),
        )
    except (TypeError, ValueError, AttributeError):
        raise Garbled(f"The registry has a version that METL does not understand: {str(found)[:300]}") from None


def _subject(version: Version) -> str:
    return version.artifact if version.group == DEFAULT else f":.{version.group}:{version.artifact}"
