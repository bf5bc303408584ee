import uuid

import pytest

from tests.sync.shelf import Matrix, Shelf


@pytest.fixture
def shelf(registry: str) -> Shelf:
    """A group that no other test looks at."""
    return Shelf(registry, f"sync-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def matrix(database: str, shelf: Shelf) -> Matrix:
    return Matrix(database, shelf.registry, (shelf.group,))
