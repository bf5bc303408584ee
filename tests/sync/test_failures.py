"""A registry that is away, slow of mind or half there loses nothing, and costs little when nothing is new."""

from collections.abc import Iterator

import pytest

from metl.db.connection import autocommit
from metl.registry.apicurio import Apicurio
from metl.registry.client import registry_client
from metl.registry.store import RegistryStore
from metl.registry.sync import Sync
from tests.sync.artifacts import Artifacts, Matrix
from tests.sync.proxy import Proxy, proxy


@pytest.fixture
def between(registry: str, matrix: Matrix) -> Iterator[Proxy]:
    with proxy(registry) as made:
        matrix.registry = made.address
        yield made


def requests(between: Proxy) -> list[str]:
    asked = list(between.paths)
    between.paths.clear()
    return asked


def test_a_pass_without_news_is_one_request_for_each_group(
    between: Proxy, artifacts: Artifacts, matrix: Matrix
) -> None:
    other = Artifacts(artifacts.registry, f"{artifacts.group}-b")
    for number in range(30):
        artifacts.table(f"shop.t{number}", "a")
        other.table(f"shop.u{number}", "a")
    matrix.groups = (artifacts.group, other.group)
    assert len(matrix.events()) == 60
    requests(between)

    assert matrix.sync() == "Nothing is new in the registry.\n"
    assert [f"groupId={group}&" in path for group, path in zip(matrix.groups, requests(between), strict=True)] == [
        True,
        True,
    ]
    # What is new costs its content, and what is deleted a look at all of its group and one at each that is missing.
    artifacts.table("shop.t0", "a", "b")
    assert len(matrix.events()) == 1
    assert len(requests(between)) == 2 + 1 + 1, "one for the setting of its Confluent ids"
    other.delete("shop.u0-value")
    assert len(matrix.events()) == 1
    assert len(requests(between)) == 2 + 1 + 1


def test_all_groups_together_are_one_request(between: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    """With all that other tests have left there, readable or not."""
    artifacts.table("shop.customer", "a")
    matrix.groups = ()
    matrix.invoke()
    requests(between)
    assert matrix.sync() == "Nothing is new in the registry.\n"
    asked = requests(between)
    # Two if a hundred of them came within the last ten seconds.
    assert 1 <= len(asked) <= 2 and not any("groupId" in path for path in asked)


def test_half_an_answer_is_asked_for_again(between: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    artifacts.table("shop.order", "b")
    faults: dict[str, list[int | str]] = {}

    def fault(path: str) -> int | str | None:
        left = faults.setdefault(path, [429, "cut", 503])
        return left.pop() if left else None

    between.fault = fault
    assert len(matrix.events()) == 2
    assert len(faults) == 1 + 1 + 2 and not any(faults.values()), "listing, setting and contents"


def test_a_registry_that_is_away_is_a_sentence(between: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    between.stop()
    said = matrix.sync(code=1)
    assert f"Error: GET {between.address}/apis/registry/v3/search/versions?groupId={artifacts.group}" in said
    assert "got no answer: [Errno 111] Connection refused. Is METL_REGISTRY right" in said
    matrix.registry = "shop:8080"
    assert "'shop:8080' is not the address of a registry. Set METL_REGISTRY" in matrix.sync(code=2)


def test_one_content_that_does_not_come_holds_up_its_schema_only(
    between: Proxy, artifacts: Artifacts, matrix: Matrix
) -> None:
    artifacts.table("shop.customer", "a", "b", "c")
    matrix.sync()
    artifacts.table("shop.customer", "b", artifacts.group)
    artifacts.table("shop.customer", "c", artifacts.group)
    artifacts.table("shop.order", artifacts.group)
    missing = matrix.rows("select max(content_id) from metl.registry_versions")[0][0] + 1
    content = f"/ids/contentIds/{missing}"
    between.fault = lambda path: 500 if path.endswith(content) else None

    said = matrix.sync(code=1)

    assert "shop.order 1 came" in said and "shop.customer 3" not in said
    assert f"{content} answered 500: not now" in said
    assert [outcome for *_, outcome in matrix.outcomes()] == ["registered", "pending", "pending", "registered"]
    notices = "select kind, schema, version from metl.notices where confirmed_at is null"
    assert matrix.rows(notices) == [("unreadable", "shop.customer", 2)]
    # Nothing has changed in the registry, and yet it is tried again.
    between.fault = lambda path: None
    assert [(each["event"], each["version"]) for each in matrix.events()] == [("registered", 2), ("registered", 3)]
    assert matrix.rows(notices) == []


def test_nothing_is_deleted_because_a_listing_is_short(between: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    for number in range(4):
        artifacts.table(f"shop.t{number}", "a")
    matrix.sync()
    live = "select count(*) from metl.schema_versions where deleted is null"
    artifacts.delete("shop.t0-value")
    # A web server that has lost its registry says 404, too.
    between.fault = lambda path: 404 if "/artifacts/shop.t0-value/versions" in path else None

    assert "answered 404: not now" in matrix.sync(code=1)
    assert matrix.rows(live) == [(4,)]
    between.fault = lambda path: None
    assert [each["event"] for each in matrix.events()] == ["deleted"]


def test_what_happens_in_the_middle_of_a_pass_is_seen_by_the_next(
    between: Proxy, artifacts: Artifacts, matrix: Matrix
) -> None:
    """Versions that come and go while the list is read leave no trace of half of it."""
    for number in range(3):
        artifacts.table(f"shop.t{number}", "a")
    matrix.sync()
    artifacts.delete("shop.t0-value")
    came: list[str] = []

    def fault(path: str) -> None:
        if "orderby=globalId" in path and not came:
            came.append(path)
            artifacts.table("shop.t9", "a")
            artifacts.delete("shop.t1-value")

    between.fault = fault
    matrix.sync()
    between.fault = lambda path: None
    matrix.sync()
    live = matrix.rows("select schema from metl.schema_versions where deleted is null order by 1")
    assert live == [("shop.t2",), ("shop.t9",)]


def test_what_is_left_alone_for_a_while_is_not_overtaken(between: Proxy, artifacts: Artifacts, matrix: Matrix) -> None:
    artifacts.table("shop.customer", "a")
    between.fault = lambda path: 500 if "/contentIds/" in path else None
    matrix.sync(code=1)
    between.fault = lambda path: None
    artifacts.table("shop.customer", "a", "b")
    artifacts.table("shop.order", "a")
    came: list[str] = []
    with autocommit(matrix.dsn) as connection:
        sync = Sync(
            *(Apicurio(registry_client(between.address)), RegistryStore(connection, "apicurio"), matrix.groups),
            *(lambda event: came.append(f"{event['schema']} {event['version']}"), lambda _done, _total: None),
        )
        sync.run(retry=False)
        assert came == ["shop.order 1"]
        sync.run(retry=True)
        assert came[1:] == ["shop.customer 1", "shop.customer 2"]


def test_a_group_that_is_not_there_is_told(artifacts: Artifacts, matrix: Matrix) -> None:
    assert f"Group '{artifacts.group}' of the registry has no versions. Is it spelled right?" in matrix.sync()
