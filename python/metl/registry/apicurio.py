"""Apicurio, through its own API (v3)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from metl.registry.http import Answer, Http, Refused
from metl.registry.listing import Content, Garbled, Reading, Version

API = ("apis", "registry", "v3")
#: It gives no more at once, whatever is asked for.
LARGEST_PAGE = 1000
FIRST_PAGE = 100
#: Changes of one second look alike, and one that took a while to commit shows with the time at which it began.
OVERLAP = timedelta(seconds=10)
#: A date in an answer may be that of a proxy, whose clock is another one.
SKEW = timedelta(minutes=10)
LEGACY_IDS = "apicurio.ccompat.legacy-id-mode.enabled"


class Apicurio:
    def __init__(self, http: Http) -> None:
        self._http = http

    def everything(self, group: str | None) -> Reading:
        versions: dict[int, Version] = {}
        count, requests, until = -1, 0, None
        seen = 0
        while True:
            answer = self._search(group, "globalId", "asc", LARGEST_PAGE, seen)
            requests += 1
            found, total = _versions(answer), _count(answer)
            if count < 0:
                date = answer.date
            changed_meanwhile = count not in (-1, total)
            count = total
            versions |= {_global_id(each): each for each in found}
            seen += len(found)
            if changed_meanwhile or not found or seen >= total:
                break
        is_whole = not changed_meanwhile and len(versions) == count
        until = _settled(list(versions.values()), date) if is_whole else None
        return Reading(list(versions.values()), count, until, is_whole, requests)

    def changes(self, group: str | None, since: datetime) -> Reading:
        versions: dict[int, Version] = {}
        first: Answer | None = None
        requests = seen = 0
        while True:
            size = LARGEST_PAGE if first else FIRST_PAGE
            answer = self._search(group, "modifiedOn", "desc", size, seen)
            first = first or answer
            requests += 1
            found = _versions(answer)
            seen += len(found)
            versions |= {_global_id(each): each for each in found if each.modified_on and each.modified_on >= since}
            if not found or seen >= _count(answer) or len(found) > sum(_global_id(each) in versions for each in found):
                break
        until = max(since, _settled(list(versions.values()), first.date) or since)
        return Reading(list(versions.values()), _count(first), until, is_whole=False, requests=requests)

    def content(self, version: Version) -> Content:
        # By content and not by version: that of a disabled version is given out only so.
        text = self._http.text(*API, "ids", "contentIds", str(version.content_id))
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
            answer = self._http.json(
                *API, "groups", version.group, "artifacts", version.artifact, "versions", version.version
            )
        except Refused as refusal:
            said = refusal.body.get("name") if isinstance(refusal.body, dict) else None
            # Any web server says 404; only the registry says what is not there.
            if refusal.status == 404 and said in ("VersionNotFoundException", "ArtifactNotFoundException"):
                return True
            raise
        return _version(answer.value).identity != version.identity

    def abort(self) -> None:
        self._http.abort()

    def close(self) -> None:
        self._http.close()

    def _search(self, group: str | None, by: str, order: str, limit: int, offset: int) -> Answer:
        return self._http.json(
            *(*API, "search", "versions"), groupId=group, orderby=by, order=order, limit=limit, offset=offset
        )

    def _referred(self, content_id: int, patience: int) -> dict[str, str]:
        found: dict[str, str] = {}
        listed = self._http.json(*API, "ids", "contentIds", str(content_id), "references").value
        for each in listed if isinstance(listed, list) and patience else []:
            group = each.get("groupId") or "default"
            path = (*API, "groups", group, "artifacts", each["artifactId"], "versions", each["version"])
            target = _version(self._http.json(*path).value).content_id
            assert target is not None
            found[each["name"]] = self._http.text(*API, "ids", "contentIds", str(target))
            found |= self._referred(target, patience - 1)
        return found

    @cached_property
    def _has_legacy_ids(self) -> bool:
        """Whether its Confluent API calls versions by their global id."""
        try:
            answer = self._http.json(*API, "admin", "config", "properties", LEGACY_IDS)
        except Refused:
            # Only administrators may look; hardly anybody changes it.
            return False
        return isinstance(answer.value, dict) and answer.value.get("value") == "true"


def _settled(versions: list[Version], date: datetime | None) -> datetime | None:
    """Before this moment nothing will come up any more that was not seen."""
    newest = [each.modified_on - OVERLAP for each in versions if each.modified_on]
    return max([*newest, *([date - SKEW] if date else [])], default=None)


def _count(answer: Answer) -> int:
    count = answer.value.get("count") if isinstance(answer.value, dict) else None
    if not isinstance(count, int):
        raise Garbled(f"The registry does not say how many versions it has: {str(answer.value)[:100]}")
    return count


def _versions(answer: Answer) -> list[Version]:
    found = answer.value.get("versions") if isinstance(answer.value, dict) else None
    if not isinstance(found, list):
        raise Garbled(f"The registry does not say which versions it has: {str(answer.value)[:100]}")
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


def _global_id(version: Version) -> int:
    assert version.global_id is not None
    return version.global_id
