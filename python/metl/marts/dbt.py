"""Runs dbt on dbt_project/ against METL's database."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from psycopg.pq import Conninfo

from metl.db.connection import connect
from metl.home import Home
from metl.util import resources, signals

#: A statement whose dbt was stopped should not go on for long, still less wait for a lock that others wait behind.
STOP_WITH_CLIENT = "-c client_connection_check_interval=1s"
TIMEOUT = 5.0
NO_TRACKER = "ignore:resource_tracker:UserWarning"


def target(home: Home) -> Path:
    """Where dbt leaves its manifest, compiled models and documentation."""
    return home.directory("dbt") / "target"


def environment(home: Home, dsn: str) -> dict[str, str]:
    """What profiles.yml reads: the DSN as libpq's own variables. No password is in any argument."""
    said = {
        option.envvar.decode(): option.val.decode()
        for option in Conninfo.parse(dsn.encode())
        if option.envvar and option.val
    }
    with connect(dsn) as connection:
        # Where the DSN led to, with what a service file, a list of hosts or libpq's defaults filled in.
        server = connection.info
        found = {
            "PGHOST": server.host,
            "PGHOSTADDR": server.hostaddr,
            "PGPORT": str(server.port),
            "PGUSER": server.user,
            "PGPASSWORD": server.password,
            "PGDATABASE": server.dbname,
            "PGOPTIONS": f"{server.options} {STOP_WITH_CLIENT}".strip(),
        }
    project = str(resources.path("dbt_project"))
    return {
        # Somebody's settings for dbt projects of their own are not for this one.
        **{name: value for name, value in os.environ.items() if not name.startswith("DBT_")},
        **said,
        **{name: value for name, value in found.items() if value},
        # When it is ended, a helper of Python's would tell what it cleans up.
        "PYTHONWARNINGS": ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), NO_TRACKER))),
        "DBT_PROJECT_DIR": project,
        "DBT_PROFILES_DIR": project,
        "DBT_TARGET_PATH": str(target(home)),
        "DBT_LOG_PATH": str(home.directory("dbt", "logs")),
        "DBT_USE_COLORS": str(sys.stdout.isatty() and not os.environ.get("NO_COLOR")).lower(),
    }


def run(home: Home, dsn: str, words: Sequence[str], *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Lets dbt speak for itself, or, if quiet, keeps what it says for the caller. Ends with us, whatever ends us."""
    command = [str(Path(sysconfig.get_path("scripts")) / "dbt"), *words]
    with subprocess.Popen(
        command,
        env=environment(home, dsn),
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        # A Ctrl-C at the terminal reaches only us: dbt would answer it with a traceback.
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            with signals.undisturbed():
                process.terminate()
                try:
                    process.wait(TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output)
