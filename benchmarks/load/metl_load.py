"""Runs a METL command, then prints the seconds from the beginning of its first batch to the end of the last."""

import json
import sys

import psycopg

from metl.cli import main as metl
from metl.config import database_dsn

SECONDS = """
select extract(epoch from max(ended_at) - min(began_at))::float8 from metl.job_batches
where job = (select job from metl.job_batches order by ended_at desc limit 1)
"""


def main(command: str, *arguments: str) -> None:
    metl.main([command, *arguments], standalone_mode=False)
    with psycopg.connect(database_dsn()) as connection:
        [(seconds,)] = connection.execute(SECONDS).fetchall()
    sys.stdout.write(json.dumps({"seconds": seconds}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
