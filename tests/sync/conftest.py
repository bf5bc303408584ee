import uuid

import pytest

from tests.sync.artifacts import Artifacts, Matrix


@pytest.fixture
def artifacts(registry: str) -> Artifacts:
    """A group that no other test looks at."""
    return Artifacts(registry, f"sync-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def matrix(database: str, artifacts: Artifacts) -> Matrix:
    return Matrix(database, artifacts.registry, (artifacts.group,))
