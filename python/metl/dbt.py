"""Runs dbt on dbt_project/ against METL's database."""

import os
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from psycopg.pq import Conninfo

from metl import resources
from metl.home import Home


def target(home: Home) -> Path:
    """Where dbt leaves its manifest, compiled models and documentation."""
    return home.directory("dbt") / "target"


def environment(home: Home, dsn: str) -> dict[str, str]:
    """What profiles.yml reads: the DSN as libpq's own variables. No password is in any argument."""
    libpq = {
        option.envvar.decode(): option.val.decode()
        for option in Conninfo.parse(dsn.encode())
        if option.envvar and option.val
    }
    project = str(resources.path("dbt_project"))
    return {
        **os.environ,
        **libpq,
        "DBT_PROJECT_DIR": project,
        "DBT_PROFILES_DIR": project,
        "DBT_TARGET_PATH": str(target(home)),
        "DBT_LOG_PATH": str(home.directory("dbt", "logs")),
    }


def run(home: Home, dsn: str, words: Sequence[str], *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Lets dbt speak for itself, or, if quiet, keeps what it says for the caller."""
    return subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "dbt", *words],
        env=environment(home, dsn),
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
