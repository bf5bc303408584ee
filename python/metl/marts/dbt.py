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
from metl.util import extras, resources, signals

#: Ends the statement of a killed dbt, which otherwise could go on, or keep waiting for a lock that blocks others.
CANCEL_ON_DISCONNECT = "-c client_connection_check_interval=1s"
TIMEOUT = 5.0
IGNORE_RESOURCE_TRACKER = "ignore:resource_tracker:UserWarning"


def target(home: Home) -> Path:
    """The folder of dbt's manifest, compiled models and documentation."""
    return home.directory("dbt") / "target"


def environment(home: Home, dsn: str) -> dict[str, str]:
    """The variables that profiles.yml reads: the DSN as those of libpq, so that no argument has a password."""
    dsn_options = {
        option.envvar.decode(): option.val.decode()
        for option in Conninfo.parse(dsn.encode())
        if option.envvar and option.val
    }
    with connect(dsn) as connection:
        # The actual connection, which a service file, a list of hosts or libpq's defaults may have completed.
        server = connection.info
        connection_options = {
            "PGHOST": server.host,
            "PGHOSTADDR": server.hostaddr,
            "PGPORT": str(server.port),
            "PGUSER": server.user,
            "PGPASSWORD": server.password,
            "PGDATABASE": server.dbname,
            "PGOPTIONS": f"{server.options} {CANCEL_ON_DISCONNECT}".strip(),
        }
    project = str(resources.path("dbt_project"))
    return {
        # DBT_* variables of the user are meant for other dbt projects.
        **{name: value for name, value in os.environ.items() if not name.startswith("DBT_")},
        **dsn_options,
        **{name: value for name, value in connection_options.items() if value},
        # Python's resource tracker warns about what it cleans up when dbt is terminated.
        "PYTHONWARNINGS": ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), IGNORE_RESOURCE_TRACKER))),
        "DBT_PROJECT_DIR": project,
        "DBT_PROFILES_DIR": project,
        "DBT_TARGET_PATH": str(target(home)),
        "DBT_LOG_PATH": str(home.directory("dbt", "logs")),
        "DBT_USE_COLORS": str(sys.stdout.isatty() and not os.environ.get("NO_COLOR")).lower(),
    }


def run(home: Home, dsn: str, arguments: Sequence[str], *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs dbt; with `quiet`, captures its output. Terminates it if this process is interrupted."""
    extras.folder("dbt")
    command = [str(Path(sysconfig.get_path("scripts")) / "dbt"), *arguments]
    with subprocess.Popen(
        command,
        env=environment(home, dsn),
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        # A Ctrl-C at the terminal must not reach dbt, which would print a traceback.
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            with signals.shielded():
                process.terminate()
                try:
                    process.wait(TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output)
