"""What must agree between files, and what must never be committed."""

import itertools
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from metl.stack import KINDS


@pytest.fixture(scope="module")
def versions(root: Path) -> dict[str, str]:
    tree = ElementTree.parse(root / "ivy.xml")
    return {each.attrib["name"]: each.attrib["rev"] for each in tree.iterfind("dependencies/dependency")}


def test_compose_runs_the_versions_of_the_local_stack(root: Path, versions: dict[str, str]) -> None:
    services = yaml.safe_load((root / "docker-compose.yml").read_text())["services"]
    images = {name: service["image"].rsplit(":", 1)[1] for name, service in services.items()}
    assert images == {
        "postgres": "18",
        "kafka": versions["kafka_2.13"],
        "registry": versions["apicurio-registry-app"],
        "connect": versions["connect-runtime"],
        "spark-master": versions["spark-sql-kafka-0-10_2.13"],
        "spark-worker": versions["spark-sql-kafka-0-10_2.13"],
    }


def test_compose_publishes_the_ports_of_the_local_stack(root: Path) -> None:
    services = yaml.safe_load((root / "docker-compose.yml").read_text())["services"]
    for kind in KINDS:
        [port] = services[kind.name]["ports"]
        assert port.startswith(f"127.0.0.1:${{METL_{kind.name.upper()}_PORT:-{kind.server.ports[kind.name]}}}:")


def test_compose_accepts_its_file(root: Path) -> None:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
    ):
        pytest.skip("no docker compose on this machine, so its parser cannot be asked")
    subprocess.run(["docker", "compose", "config", "--quiet"], cwd=root, check=True)


def test_spark_and_its_connector_are_of_one_version(root: Path, versions: dict[str, str]) -> None:
    assert f'"pyspark=={versions["spark-sql-kafka-0-10_2.13"]}"' in (root / "pyproject.toml").read_text()


def test_the_lock_pins_with_hashes_and_holds_no_address(root: Path) -> None:
    lock = (root / "requirements.lock").read_text()
    assert "://" not in lock
    pins = re.findall(r"^\S+==", lock, re.M)
    assert len(pins) > 20
    for entry in re.split(r"\n(?=\S+==)", lock):
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


def test_every_locked_dependency_is_still_asked_for(root: Path) -> None:
    lock = (root / "requirements.lock").read_text()
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    for wanted in itertools.chain(project["dependencies"], *project["optional-dependencies"].values()):
        name = re.split(r"[^a-z0-9-]", wanted)[0]
        assert re.search(rf"^{name}(\[\S+\])?==", lock, re.M), f"{name} is not locked: make lock"
