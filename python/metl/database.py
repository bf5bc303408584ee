"""A connection to METL's database."""

import psycopg

from metl.errors import BadInput, MetlError


def connect(dsn: str) -> psycopg.Connection:
    try:
        return psycopg.connect(dsn)
    except psycopg.ProgrammingError:
        # Its own words would repeat the address, password and all.
        raise BadInput("METL_DSN is not an address that PostgreSQL can read.") from None
    except psycopg.Error as error:
        raise MetlError(f"The database does not answer: {str(error).strip()}. Is METL_DSN right?") from None
