"""What holds for all tests: a busy machine makes a property slower to check, not wrong; collecting is quick."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.sizes import examples

settings.register_profile(
    "kit", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kit")


def pytest_configure(config: pytest.Config) -> None:
    """Measure nothing where several processes run tests: else pytest-benchmark warns that it will not."""
    if config.getoption("dist", "no") != "no" or os.environ.get("PYTEST_XDIST_WORKER"):
        config.option.benchmark_disable = True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector: nearly all that is made here (modules, cases) lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


WHOLE = {"browser": "browser", "engine": "docker"}
"""A folder whose tests all have a marker -> the marker."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a folder of which nothing would be run: to read it takes as long as some hundred tests."""
    marker = WHOLE.get(collection_path.name) if collection_path.parent == Path(__file__).parent else None
    return True if marker and f"not {marker}" in (config.option.markexpr or "") else None


REAL = frozenset({"docker", "vm", "browser", "notebooks", "workshop", "kubectl"})
"""Markers of tests in which time is real: a kernel, an engine, a browser or another program beside this process."""


LAST_TRY = "KITLIB_LAST_TRY"
"""Environment variable: a file with summary lines of failed tests (`ID` or `ID - MESSAGE`); only these tests run."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of the gate's last try, and repeat those that deal with real time."""
    if os.environ.get(LAST_TRY):
        lines = Path(os.environ[LAST_TRY]).read_text().splitlines()
        wanted = [any(line == item.nodeid or line.startswith(f"{item.nodeid} - ") for line in lines) for item in items]
        config.hook.pytest_deselected(items=[item for item, wants in zip(items, wanted, strict=True) if not wants])
        items[:] = [item for item, wants in zip(items, wanted, strict=True) if wants]
    _repeat(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let a run of the last try succeed that has none of the tests: a stage may consist of several runs."""
    if os.environ.get(LAST_TRY) and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell each failure in the gate when it happens: a stage that is stopped prints no summary."""
    told = os.environ.get("KITLIB_SECOND_RUN") and not os.environ.get("PYTEST_XDIST_WORKER")
    if told and report.outcome not in ("passed", "skipped"):
        crash = getattr(report.longrepr, "reprcrash", None)
        lines = str(crash.message if crash else report.longrepr).strip().splitlines()
        print(f"\n-- {report.nodeid} ({report.when}): {' '.join(lines)[:300]}", file=sys.__stdout__, flush=True)


def _repeat(items: list[pytest.Item]) -> None:
    """Repeat a failed test that deals with real time up to twice, in the gate; `.ci/run` counts and names these.

    Two lanes share the machine there, with whatever else its host does: a process that gets no processor for ten
    seconds fails a test that has nothing to do with it, and what holds it may last longer than one pause. What is
    wrong for certain fails each time.
    """
    if not os.environ.get("KITLIB_SECOND_RUN"):
        return
    for item in items:
        if not REAL.isdisjoint(marker.name for marker in item.iter_markers()):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=20))
