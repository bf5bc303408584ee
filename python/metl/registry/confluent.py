"""Registries with Confluent's API, which gives neither times nor an order of changes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from metl.registry.listing import Content, Listing, UnexpectedAnswer, Version
from metl.util.http import Client, Refused

PAGE = 1000
THREADS = 4
#: Subject, or version, not found.
NOT_FOUND = (40401, 40402)
DEFAULT = "default"
#: References may be circular.
MAX_REFERENCES = 1000


class Confluent:
    """A context is what Apicurio calls a group; without one it is the group `default`."""

    def __init__(self, http: Client) -> None:
        self._http = http

    def list_all(self, group: str | None) -> Listing:
        prefix = None if group in (None, DEFAULT) else f":.{group}:"
        versions = self._list_schemas(prefix)
        requests = 1 + len(versions or []) // PAGE
        if versions is None:
            versions = self._list_subjects(prefix)
            requests = 1 + len({each.artifact for each in versions})
        wanted = [each for each in versions if group in (None, each.group)]
        return Listing(wanted, len(wanted), None, is_complete=True, requests=requests)

    def list_changes(self, group: str | None, since: datetime) -> Listing:
        raise AssertionError(f"no watermark was recorded for {group}, not {since}: listings have none")

    def content(self, version: Version) -> Content:
        found = self._http.json("subjects", _subject(version), "versions", version.version)
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str) or "id" not in found:
            raise UnexpectedAnswer(f"Version {version.version} of {version.artifact} has no schema: {str(found)[:200]}")
        refs = {"confluent_id": found["id"], **({"confluent_guid": found["guid"]} if found.get("guid") else {})}
        return Content(found.get("schemaType") or "AVRO", found["schema"], refs, {"": found.get("references")})

    def references(self, content: Content) -> dict[str, str]:
        texts: dict[str, str] = {}
        unresolved = list(content.references[""] or [])
        try:
            while unresolved and len(texts) < MAX_REFERENCES:
                each = unresolved.pop(0)
                if each["name"] not in texts:
                    answer = self._http.json("subjects", each["subject"], "versions", str(each["version"]))
                    texts[each["name"]] = answer["schema"]
                    unresolved += answer.get("references") or []
        except (KeyError, TypeError):
            raise UnexpectedAnswer(
                f"The registry has references that METL does not understand: {str(unresolved)[:300]}"
            ) from None
        return texts

    def is_deleted(self, version: Version) -> bool:
        try:
            found = self._http.json("subjects", _subject(version), "versions", version.version)
        except Refused as refusal:
            code = refusal.body.get("error_code") if isinstance(refusal.body, dict) else None
            if refusal.status == 404 and code in NOT_FOUND:
                return True
            raise
        return isinstance(found, dict) and found.get("id") not in (None, version.confluent_id)

    def abort(self) -> None:
        self._http.abort()

    def close(self) -> None:
        self._http.close()

    def _list_schemas(self, prefix: str | None) -> list[Version] | None:
        """A request for each thousand versions; None if this registry lists no versions or subjects there."""
        versions: dict[tuple[str, int], Version] = {}
        while True:
            try:
                page = self._http.json("schemas", subjectPrefix=prefix, offset=len(versions), limit=PAGE)
            except Refused as refusal:
                if refusal.status in (404, 405):
                    return None
                raise
            if not isinstance(page, list):
                raise UnexpectedAnswer(f"The registry does not say which schemas it has: {str(page)[:100]}")
            if not all(isinstance(each, dict) and {"subject", "version", "id"} <= each.keys() for each in page):
                return None
            before = len(versions)
            versions |= {(each["subject"], each["version"]): _version(each) for each in page}
            # Some ignore offset and limit.
            if len(page) < PAGE or len(versions) == before:
                return list(versions.values())

    def _list_subjects(self, prefix: str | None) -> list[Version]:
        subjects = self._http.json("subjects", subjectPrefix=prefix)
        if not isinstance(subjects, list):
            raise UnexpectedAnswer(f"The registry does not say which subjects it has: {str(subjects)[:100]}")

        def versions(subject: str) -> list[Version]:
            try:
                numbers = self._http.json("subjects", subject, "versions")
            except Refused as refusal:
                if refusal.status == 404:
                    return []
                raise
            return [_version({"subject": subject, "version": number}) for number in numbers]

        with ThreadPoolExecutor(THREADS) as pool:
            return [each for of_subject in pool.map(versions, subjects) for each in of_subject]


def _version(found: dict[str, Any]) -> Version:
    try:
        group, artifact = DEFAULT, found["subject"]
        if artifact.startswith(":.") and ":" in artifact[2:]:
            group, _, artifact = artifact[2:].partition(":")
        return Version(
            group=group or DEFAULT,
            artifact=artifact,
            version=str(found["version"]),
            # A listing by subject does not say; the content does.
            type=found.get("schemaType", "AVRO") if "id" in found else None,
            position=int(found["version"]),
            confluent_id=found.get("id"),
        )
    except (TypeError, ValueError, AttributeError):
        raise UnexpectedAnswer(
            f"The registry has a version that METL does not understand: {str(found)[:300]}"
        ) from None


def _subject(version: Version) -> str:
    return version.artifact if version.group == DEFAULT else f":.{version.group}:{version.artifact}"
