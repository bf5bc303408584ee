"""Apicurio, through its own API (v3)."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from metl.registry.attributes import Unreadable
from metl.registry.listing import Content, Garbled, Reading, Version
from metl.util.http import Client, Refused

API = ("apis", "registry", "v3")
#: It gives no more at once, whatever is asked for.
LARGEST_PAGE = 1000
FIRST_PAGE = 100
#: Changes of one second look alike, and one that took a while to commit shows with the time at which it began.
OVERLAP = timedelta(seconds=10)
LEGACY_IDS = "apicurio.ccompat.legacy-id-mode.enabled"


class Apicurio:
    def __init__(self, http: Client) -> None:
        self._http = http

    def everything(self, group: str | None) -> Reading:
        versions: dict[int, Version] = {}
        counts: set[int] = set()
        requests = seen = 0
        while True:
            page = self._search(group, "globalId", "asc", LARGEST_PAGE, seen)
            found = _versions(page)
            requests += 1
            seen += len(found)
            counts.add(_count(page))
            versions |= {each.position: each for each in found}
            if len(counts) > 1 or not found or seen >= min(counts):
                break
        is_whole = counts == {len(versions)}
        until = _until(versions.values()) if is_whole else None
        return Reading(list(versions.values()), max(counts), until, is_whole, requests)

    def changes(self, group: str | None, since: datetime) -> Reading:
        versions: dict[int, Version] = {}
        count: int | None = None
        requests = seen = 0
        while True:
            page = self._search(group, "modifiedOn", "desc", LARGEST_PAGE if requests else FIRST_PAGE, seen)
            found = _versions(page)
            requests += 1
            seen += len(found)
            count = _count(page) if count is None else count
            recent = [each for each in found if each.modified_on and each.modified_on >= since]
            versions |= {each.position: each for each in recent}
            if len(recent) < len(found) or not found or seen >= count:
                break
        return Reading(list(versions.values()), count, _until(versions.values()), is_whole=False, requests=requests)

    def content(self, version: Version) -> Content:
        # By content and not by version: that of a disabled version is given out only so.
        text = self._text(version.content_id)
        confluent_id = version.global_id if self._has_legacy_ids else version.content_id
        refs = {
            "global_id": version.global_id,
            "content_id": version.content_id,
            "confluent_id": confluent_id,
        }
        return Content(str(version.type), text, refs, {"content_id": version.content_id})

    def references(self, content: Content) -> dict[str, str]:
        return self._referred(content.references["content_id"], patience=20)

    def is_gone(self, version: Version) -> bool:
        try:
            found = self._http.json(
                *API, "groups", version.group, "artifacts", version.artifact, "versions", version.version
            )
        except Refused as refusal:
            said = refusal.body.get("name") if isinstance(refusal.body, dict) else None
            # Any web server says 404; only the registry says what is not there.
            if refusal.status == 404 and said in ("VersionNotFoundException", "ArtifactNotFoundException"):
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

    def _referred(self, content_id: int | None, patience: int) -> dict[str, str]:
        found: dict[str, str] = {}
        listed = self._http.json(*API, "ids", "contentIds", str(content_id), "references")
        for each in listed if isinstance(listed, list) and patience else []:
            if not isinstance(each, dict) or not {"artifactId", "version", "name"} <= each.keys():
                raise Garbled(f"The registry has a reference that METL does not understand: {str(each)[:300]}")
            group = each.get("groupId") or "default"
            path = (*API, "groups", group, "artifacts", each["artifactId"], "versions", str(each["version"]))
            target = _version(self._http.json(*path)).content_id
            found[each["name"]] = self._text(target)
            found |= self._referred(target, patience - 1)
        return found

    @cached_property
    def _has_legacy_ids(self) -> bool:
        """Whether its Confluent API calls versions by their global id."""
        try:
            setting = self._http.json(*API, "admin", "config", "properties", LEGACY_IDS)
        except Refused:
            # Only administrators may look; hardly anybody changes it.
            return False
        return isinstance(setting, dict) and setting.get("value") == "true"


def _until(versions: Iterable[Version]) -> datetime | None:
    """Before this moment nothing will come up any more that was not seen."""
    return max((each.modified_on - OVERLAP for each in versions if each.modified_on), default=None)


def _count(page: Any) -> int:
    count = page.get("count") if isinstance(page, dict) else None
    if not isinstance(count, int):
        raise Garbled(f"The registry does not say how many versions it has: {str(page)[:100]}")
    return count


def _versions(page: Any) -> list[Version]:
    found = page.get("versions") if isinstance(page, dict) else None
    if not isinstance(found, list):
        raise Garbled(f"The registry does not say which versions it has: {str(page)[:100]}")
    return [_version(each) for each in found]


def _version(found: Any) -> Version:
    try:
        return Version(
            # The group "default" goes without saying.
            group=found.get("groupId") or "default",
            artifact=found["artifactId"],
            version=str(found["version"]),
            type=found["artifactType"],
            position=int(found["globalId"]),
            global_id=int(found["globalId"]),
            content_id=int(found["contentId"]),
            state=found.get("state"),
            created_on=_moment(found, "createdOn"),
            modified_on=_moment(found, "modifiedOn") or _moment(found, "createdOn"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Garbled(f"The registry has a version that METL does not understand: {str(found)[:300]}") from None


def _moment(found: Mapping[str, Any], name: str) -> datetime | None:
    return datetime.fromisoformat(found[name]) if found.get(name) else None
