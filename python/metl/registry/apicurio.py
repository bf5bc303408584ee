"""Apicurio, through its own API (v3)."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from metl.registry.attributes import Unreadable
from metl.registry.listing import Content, Listing, UnexpectedAnswer, Version
from metl.util.http import Client, Refused

API = ("apis", "registry", "v3")
#: The registry's own limit.
LARGEST_PAGE = 1000
FIRST_PAGE = 100
#: Timestamps are of whole seconds and of the begin of a transaction: a change may appear after its timestamp.
OVERLAP = timedelta(seconds=10)
LEGACY_IDS = "apicurio.ccompat.legacy-id-mode.enabled"


class Apicurio:
    def __init__(self, http: Client) -> None:
        self._http = http

    def list_all(self, group: str | None) -> Listing:
        versions: dict[int, Version] = {}
        counts: set[int] = set()
        requests = seen = 0
        while True:
            page = self._search(group, "globalId", "asc", LARGEST_PAGE, seen)
            batch = _versions(page)
            requests += 1
            seen += len(batch)
            counts.add(_count(page))
            versions |= {each.position: each for each in batch}
            if len(counts) > 1 or not batch or seen >= min(counts):
                break
        is_complete = counts == {len(versions)}
        watermark = _watermark(versions.values()) if is_complete else None
        return Listing(list(versions.values()), max(counts), watermark, is_complete, requests)

    def list_changes(self, group: str | None, since: datetime) -> Listing:
        versions: dict[int, Version] = {}
        count: int | None = None
        requests = seen = 0
        while True:
            page = self._search(group, "modifiedOn", "desc", LARGEST_PAGE if requests else FIRST_PAGE, seen)
            batch = _versions(page)
            requests += 1
            seen += len(batch)
            count = _count(page) if count is None else count
            recent = [each for each in batch if each.modified_on and each.modified_on >= since]
            versions |= {each.position: each for each in recent}
            if len(recent) < len(batch) or not batch or seen >= count:
                break
        watermark = _watermark(versions.values())
        return Listing(list(versions.values()), count, watermark, is_complete=False, requests=requests)

    def content(self, version: Version) -> Content:
        # By content id: the content of a disabled version cannot be read otherwise.
        text = self._text(version.content_id)
        confluent_id = version.global_id if self._has_legacy_ids else version.content_id
        refs = {
            "global_id": version.global_id,
            "content_id": version.content_id,
            "confluent_id": confluent_id,
        }
        return Content(str(version.type), text, refs, {"content_id": version.content_id})

    def references(self, content: Content) -> dict[str, str]:
        return self._resolve_references(content.references["content_id"], depth=20)

    def is_deleted(self, version: Version) -> bool:
        try:
            found = self._http.json(
                *API, "groups", version.group, "artifacts", version.artifact, "versions", version.version
            )
        except Refused as refusal:
            error = refusal.body.get("name") if isinstance(refusal.body, dict) else None
            # Any web server says 404; only the registry says what is not there.
            if refusal.status == 404 and error in ("VersionNotFoundException", "ArtifactNotFoundException"):
                return True
            raise
        return _version(found).identity != version.identity

    def abort(self) -> None:
        self._http.abort()

    def close(self) -> None:
        self._http.close()

    def _search(self, group: str | None, by: str, order: str, limit: int, offset: int) -> Any:
        return self._http.json(
            *(*API, "search", "versions"), groupId=group, orderby=by, order=order, limit=limit, offset=offset
        )

    def _text(self, content_id: int | None) -> str:
        content = self._http.content(*API, "ids", "contentIds", str(content_id))
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise Unreadable(f"is not UTF-8: {content[:60]!r}") from None

    def _resolve_references(self, content_id: int | None, depth: int) -> dict[str, str]:
        texts: dict[str, str] = {}
        listed = self._http.json(*API, "ids", "contentIds", str(content_id), "references")
        for each in listed if isinstance(listed, list) and depth else []:
            if not isinstance(each, dict) or not {"artifactId", "version", "name"} <= each.keys():
                raise UnexpectedAnswer(f"The registry has a reference that METL does not understand: {str(each)[:300]}")
            group = each.get("groupId") or "default"
            path = (*API, "groups", group, "artifacts", each["artifactId"], "versions", str(each["version"]))
            target = _version(self._http.json(*path)).content_id
            texts[each["name"]] = self._text(target)
            texts |= self._resolve_references(target, depth - 1)
        return texts

    @cached_property
    def _has_legacy_ids(self) -> bool:
        """Whether its Confluent API calls versions by their global id."""
        try:
            setting = self._http.json(*API, "admin", "config", "properties", LEGACY_IDS)
        except Refused:
            # Only administrators may read it; hardly anybody changes it.
            return False
        return isinstance(setting, dict) and setting.get("value") == "true"


def _watermark(versions: Iterable[Version]) -> datetime | None:
    """No change before it can appear later."""
    return max((each.modified_on - OVERLAP for each in versions if each.modified_on), default=None)


def _count(page: Any) -> int:
    count = page.get("count") if isinstance(page, dict) else None
    if not isinstance(count, int):
        raise UnexpectedAnswer(f"The registry does not say how many versions it has: {str(page)[:100]}")
    return count


def _versions(page: Any) -> list[Version]:
    versions = page.get("versions") if isinstance(page, dict) else None
    if not isinstance(versions, list):
        raise UnexpectedAnswer(f"The registry does not say which versions it has: {str(page)[:100]}")
    return [_version(each) for each in versions]


def _version(answer: Any) -> Version:
    try:
        return Version(
            # The registry leaves out the group "default".
            group=answer.get("groupId") or "default",
            artifact=answer["artifactId"],
            version=str(answer["version"]),
            type=answer["artifactType"],
            position=int(answer["globalId"]),
            global_id=int(answer["globalId"]),
            content_id=int(answer["contentId"]),
            state=answer.get("state"),
            created_on=_timestamp(answer, "createdOn"),
            modified_on=_timestamp(answer, "modifiedOn") or _timestamp(answer, "createdOn"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnexpectedAnswer(
            f"The registry has a version that METL does not understand: {str(answer)[:300]}"
        ) from None


def _timestamp(answer: Mapping[str, Any], name: str) -> datetime | None:
    return datetime.fromisoformat(answer[name]) if answer.get(name) else None
