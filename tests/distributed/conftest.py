"""Ranks for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ranks import RankPool


@pytest.fixture(scope="session")
def ranks() -> Iterator[RankPool]:
    pool = RankPool()
    yield pool
    pool.end()
