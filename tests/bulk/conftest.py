"""The steps of spark_jobs, for tests that use them."""

import sys

from metl import resources
from tests.live.running import marts, world  # noqa: F401

sys.path.append(str(resources.path("spark_jobs")))
