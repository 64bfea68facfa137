"""The start page's slider: quota and throttled periods, read from the container's cgroup."""

from __future__ import annotations

import pytest

from kitlib.advisor import first_kill as kill
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab.start import throttle


@pytest.fixture(scope="module", params=[1, 2], ids=["cgroup v1", "cgroup v2"])
def cluster(request):
    with Cluster.simulated(nodes=[{**kill.NODE, "cgroup_version": request.param}]) as made:
        yield made


@pytest.mark.parametrize(
    ("limit", "quota", "throttled", "runs"),
    [(500, 50_000, True, 25), (100, 10_000, True, 5), (1500, 150_000, True, 75), (2000, 200_000, False, 100)],
)
def test_a_limit_below_what_the_threads_want_throttles_on_an_idle_node(cluster, limit, quota, throttled, runs):
    reading = throttle.measure(cluster, limit)
    assert (reading.quota, reading.runs_ms) == (quota, runs)
    assert reading.periods == pytest.approx(10, abs=1)
    assert bool(reading.throttled) is throttled
    assert reading.used == pytest.approx(limit / 1000, abs=0.1)
    assert str(reading.throttled) in reading.sentence()


@pytest.mark.parametrize("limit", [0, -5, 10**9])
def test_a_limit_that_no_node_could_have_is_refused(cluster, limit):
    with pytest.raises(KitError, match="must be from 10m"):
        throttle.measure(cluster, limit)
