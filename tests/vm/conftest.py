"""Tests on the kernel that this process itself runs on: as root, with the cgroup file system to itself.

They are for the disposable virtual machine (`.ci/vm`), which sets KITLIB_VM; everything here is marked `vm`. Elsewhere
they are skipped: they move processes between cgroups and call the OOM killer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.bench import Puppets, Real

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.vm)


@pytest.fixture(scope="session", autouse=True)
def _a_kernel_of_our_own() -> None:
    if not os.environ.get("KITLIB_VM"):
        if "vm" in os.environ.get("KITLIB_REQUIRE", "").split(","):
            pytest.fail("KITLIB_REQUIRE names vm, but this is not the virtual machine: run .ci/vm")
        pytest.skip("needs a kernel of its own: run .ci/vm")


@pytest.fixture(scope="session")
def puppets() -> Iterator[Puppets]:
    made = Puppets()
    yield made
    made.close()


@pytest.fixture
def real(puppets: Puppets) -> Iterator[Real]:
    """An empty bench on this kernel."""
    side = Real(puppets)
    yield side
    side.clear()


@pytest.fixture(scope="session")
def artifacts() -> Path:
    place = Path(os.environ.get("ARTIFACTS", "artifacts"))
    place.mkdir(parents=True, exist_ok=True)
    return place
