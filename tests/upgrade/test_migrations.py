"""Each migration is applied once, by psql as by `metl install`, and never changed afterwards."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from metl.db.install import Script, check_checksums, install, run, scripts
from metl.errors import MetlError
from metl.util import resources
from tests.matrix.catalog import assert_same, dump, empty_database, psql


def migrations(sql_folder: Path) -> list[Script]:
    return [script for script in scripts(sql_folder / "install.sql") if script.checksum]


@pytest.fixture
def empty(postgres: str) -> Iterator[str]:
    with empty_database(postgres) as dsn:
        yield dsn


@pytest.fixture
def sql_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of sql/ to change, which `metl install` goes by."""
    shutil.copytree(root / "sql", tmp_path / "sql")
    monkeypatch.setattr(resources, "path", lambda name: tmp_path / name)
    return tmp_path / "sql"


def write_migration(sql_folder: Path, name: str, text: str) -> None:
    """Adds a migration, or puts another text in its place."""
    path = sql_folder / "migrations" / f"{name}.sql"
    path.write_text(text)
    index = path.with_name("index.sql")
    others = [line for line in index.read_text().splitlines() if f" {name} " not in line]
    checksum = hashlib.sha256(text.encode()).hexdigest()
    index.write_text("\n".join([*others, f"\\set file {name} \\set sha256 {checksum} \\ir apply.sql"]) + "\n")


def test_they_are_numbered_without_gaps_and_recorded(root: Path, postgres: str, template: str) -> None:
    given = [script.path.stem.split("_", 1) for script in migrations(root / "sql")]
    with psycopg.connect(postgres, dbname=template) as connection:
        applied = connection.execute("select number, name from metl.migration order by number").fetchall()
    assert applied == [(number, name.replace("_", " ")) for number, (_, name) in enumerate(given, start=1)]
    assert [int(number) for number, _ in given] == [number for number, _ in applied]


def test_the_checksums_in_the_index_are_those_of_the_files(root: Path) -> None:
    check_checksums(scripts(root / "sql" / "install.sql"))


def test_none_is_written_to_be_run_again(root: Path) -> None:
    """What is there already is a reason to fail; 12 meets what outlives schema metl, 20 what early databases lack."""
    for script in migrations(root / "sql"):
        if script.path.stem not in ("012_warehouse", "020_early_databases"):
            assert not re.search(r"if not exists|on conflict", script.path.read_text()), script.path


def test_only_what_is_pending_is_applied(empty: str, sql_folder: Path, tmp_path: Path) -> None:
    assert len(install(empty).migrations) == len(migrations(sql_folder))
    write_migration(sql_folder, "901_by_python", "create table metl.by_python ();\n")
    assert install(empty).migrations == ["by python"]
    write_migration(sql_folder, "902_by_psql", "create table metl.by_psql ();\n")
    assert psql(empty, sql_folder / "install.sql", tmp_path) == ""
    assert psql(empty, sql_folder / "install.sql", tmp_path, "-1") == ""
    assert install(empty).migrations == []


def test_a_changed_one_is_refused(empty: str, sql_folder: Path, tmp_path: Path) -> None:
    write_migration(sql_folder, "901_more", "create table metl.more ();\n")
    install(empty)
    before = dump(empty)
    (sql_folder / "migrations" / "901_more.sql").write_text("create table metl.much_more ();\n")
    with pytest.raises(
        MetlError, match=r"901_more\.sql has SHA-256 .*never edited: restore it, and make the change in a new"
    ):
        install(empty)
    # Also where the checksum in the index was changed with it.
    write_migration(sql_folder, "901_more", "create table metl.much_more ();\n")
    with pytest.raises(MetlError, match="Migration 901_more was changed after it was applied"):
        install(empty)
    for options in ((), ("-1",)):
        output = psql(empty, sql_folder / "install.sql", tmp_path, *options, code=3)
        assert "Migration 901_more was changed after it was applied" in output
        assert "restore the file, and make the change in a new migration" in output
    assert_same(dump(empty), before)


def test_another_one_of_the_same_number_is_refused(empty: str, sql_folder: Path) -> None:
    write_migration(sql_folder, "901_more", "create table metl.more ();\n")
    install(empty)
    with psycopg.connect(empty) as connection:
        connection.execute("update metl.migration set name = 'other', checksum = null where number = 901")
    with pytest.raises(MetlError, match=r"migration 901 \(other\)"):
        install(empty)


@pytest.mark.parametrize("way", ["metl install", "psql", "psql -1"])
def test_one_that_fails_leaves_nothing_and_is_tried_again(
    empty: str, sql_folder: Path, tmp_path: Path, way: str
) -> None:
    write_migration(sql_folder, "901_fails", "create table metl.half ();\nselect 1 / 0;\n")
    if way == "metl install":
        with pytest.raises(MetlError, match=r"901_fails.sql failed, nothing was changed: division by zero"):
            install(empty)
    else:
        assert "division by zero" in psql(empty, sql_folder / "install.sql", tmp_path, *way.split()[1:], code=3)
    with psycopg.connect(empty) as connection:
        assert connection.execute("select to_regclass('metl.half')").fetchone() == (None,)
    write_migration(sql_folder, "901_fails", "create table metl.whole ();\n")
    assert "fails" in install(empty).migrations


def test_a_database_at_any_migration_is_brought_up_to_date(postgres: str, template: str, root: Path) -> None:
    """Each time the later ones are applied to what the earlier ones made, never all in one go."""
    fresh = dump(make_conninfo(postgres, dbname=template))
    found = scripts(root / "sql" / "install.sql")
    places = [place for place, script in enumerate(found) if script.checksum]
    for place in places:
        with empty_database(postgres) as dsn:
            with psycopg.connect(dsn) as connection:
                for script in found[: place + 1]:
                    run(connection, script)
            install(dsn)
            assert_same(dump(dsn), fresh)
