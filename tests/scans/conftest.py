"""One small street as a file, for all tests of scans."""

from __future__ import annotations

import pytest
from streets import Street, write_street


@pytest.fixture(scope="session")
def street(tmp_path_factory) -> Street:
    return write_street(tmp_path_factory.mktemp("street") / "street.las")
