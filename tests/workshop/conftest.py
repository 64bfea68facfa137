"""What the workshop's tests share: one installation of a hub."""

from __future__ import annotations

import pytest

from tests.workshop.hub import Place, install


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return install(tmp_path_factory.mktemp("hub"))
