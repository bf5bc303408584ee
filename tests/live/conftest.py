"""A database, a broker and the Spark of the tests, for mappers that run inside them."""

from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from tests.conftest import Marts, scratch_database
from tests.live.running import Place, job_role, world

__all__ = ["place", "session", "world"]


@pytest.fixture(scope="module")
def place(postgres: str, marts: Marts, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with scratch_database(postgres, marts.database) as name:
        dsn = make_conninfo(postgres, dbname=name)
        with job_role(dsn, "metl_job") as job_dsn:
            yield Place(dsn, job_dsn, kafka, tmp_path_factory.mktemp("live"), marts)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The Spark of all tests, set as that of a mapper while it is needed."""
    from metl_spark.runtime.session import LOCAL_CHECKPOINT, SQL, register_functions

    wanted = {**SQL, **LOCAL_CHECKPOINT}
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    register_functions(spark)
    yield spark
    for name, known in before.items():
        if known is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, known)
