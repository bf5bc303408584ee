"""Which packages may import which."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{file} has a relative import"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def violations(folder: Path, forbidden: tuple[str, ...]) -> list[str]:
    files = [*folder.rglob("*.py")]
    assert len(files) > 5
    return [
        f"{file.relative_to(folder)} imports {module}"
        for file in files
        for module in imports(file)
        if any(is_in(module, package) for package in forbidden)
    ]


def test_jobs_need_neither_the_command_line_nor_the_local_stack(root: Path) -> None:
    assert violations(root / "spark_jobs", ("metl.cli", "metl.stack")) == []


@pytest.mark.parametrize("room", ["mapping", "loading", "warehouse", "reprocessing"])
def test_the_runtime_knows_no_job(root: Path, room: str) -> None:
    assert violations(root / "spark_jobs" / "metl_spark" / "runtime", (f"metl_spark.{room}",)) == []


def test_only_the_command_line_starts_jobs(root: Path) -> None:
    package = root / "python" / "metl"
    found = violations(package, ("metl_spark",))
    assert [each for each in found if not each.startswith("cli/")] == []


def test_no_module_changes_the_search_path(root: Path) -> None:
    for folder in ("python", "spark_jobs"):
        for file in (root / folder).rglob("*.py"):
            assert "sys.path" not in file.read_text(encoding="utf-8"), file
