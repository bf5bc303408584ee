"""Builds METL's wheel and installs it."""

import subprocess
import sys
from pathlib import Path

UV = str(Path(sys.executable).with_name("uv"))


def build(root: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def install(root: Path, wheel: Path, folder: Path, extras: str = "") -> Path:
    """What `pip install metl-matrix` makes in a new environment, with the versions and hashes of the lock."""
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    command = [UV, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), f"{wheel}{extras}"]
    subprocess.run([*command, "--constraint", str(root / "requirements.lock")], check=True)
    return folder
