"""The live watch: readings against limits, bounded memory, pause, and the page's word on what it has drawn."""

import asyncio

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.widgets import CgroupWatch
from kitlib.widgets._parts.live_picture import KEPT, LivePicture

POD = """
apiVersion: v1
kind: Pod
metadata: {name: busy, annotations: {kitlib.dev/workload.app: "1s memory=50Mi cpu=2; memory=150Mi cpu=2"}}
spec:
  containers:
  - {name: app, image: x, resources: {limits: {cpu: 500m, memory: 200Mi}}}
"""


@pytest.fixture
def cluster():
    with Cluster.simulated(1, cpus=2) as made:
        made.apply(POD)
        yield made


async def run(watch, readings):
    watch.play.value = True
    while len(watch.live.samples) < readings:
        await asyncio.sleep(0.01)
    watch.play.value = False


def test_lines_grow_while_it_runs_and_stand_still_when_paused(cluster):
    async def main():
        watch = CgroupWatch(cluster, rate=10)
        watch.speed.value = 5
        watch._beat.seconds = 0.01  # the test does not wait for the clock
        await run(watch, 8)
        stood = len(watch.live.samples)
        await asyncio.sleep(0.05)
        assert len(watch.live.samples) == stood
        return watch

    watch = asyncio.run(main())
    used = list(watch.frame()["busy/app"])
    assert used[0] == 50 * 2**20 and used[-1] == 150 * 2**20
    assert watch.live.limits == {"busy/app": 200 * 2**20}
    assert watch.frame().seconds.is_monotonic_increasing
    assert "busy/app" in watch.sentence


@pytest.mark.parametrize(("metric", "last"), [("cpu", 0.5), ("throttled", 100)])
def test_rates_are_read_from_counters(cluster, metric, last):
    async def main():
        watch = CgroupWatch(cluster, metric=metric)
        watch._beat.seconds = 0.01
        await run(watch, 12)
        return watch

    watch = asyncio.run(main())
    assert watch.frame()["busy/app"].iloc[-1] == pytest.approx(last, rel=0.01)
    assert ("At the limit: busy/app" in watch.sentence) == (metric == "cpu")


def test_a_pod_that_comes_while_watching_gets_a_line_of_its_own(cluster):
    watch = CgroupWatch(cluster, ran=0)
    cluster.apply(POD.replace("busy", "second"))
    watch.sample()
    assert watch.live.names == ["busy/app", "second/app"]
    assert watch.frame()["second/app"].isna().tolist() == [True, False]
    cluster.delete("Pod", "busy", grace=0)
    watch.sample()
    assert watch.frame()["busy/app"].isna().iloc[-1]


def test_what_is_kept_and_what_the_table_shows_is_bounded(cluster):
    watch = CgroupWatch(cluster)
    for second in range(KEPT + 50):
        watch.live.add(second, [1.0])
    assert len(watch.live.samples) == KEPT
    watch.refresh()
    assert watch._table.value.count("<tr>") == 11


def test_the_page_tells_how_far_behind_it_is():
    picture = LivePicture()
    picture.reset(["a"])
    for second in range(5):
        picture.add(second, [1.0])
    assert picture.behind == 5
    picture._on_message(picture, {"kind": "drawn", "seq": 4}, [])
    assert picture.behind == 1


def test_a_page_that_is_opened_later_gets_all_samples(monkeypatch):
    picture = LivePicture()
    picture.reset(["a"])
    picture.add(1.0, [5.0])
    sent = []
    monkeypatch.setattr(picture, "send", lambda message: sent.append(message))
    picture._on_message(picture, {"kind": "history?"}, [])
    assert sent == [{"kind": "history", "samples": [[1.0, [5.0], []]], "seq": 1}]


def test_closing_ends_the_reading(cluster):
    async def main():
        watch = CgroupWatch(cluster, start=True)
        await asyncio.sleep(0.02)
        watch.close()
        assert not watch._beat.running

    asyncio.run(main())


def test_outside_a_notebook_starting_says_why_it_cannot(cluster):
    watch = CgroupWatch(cluster, start=True)
    assert "requires the event loop of a notebook" in watch.problem
    assert watch.play.value is False


@pytest.mark.parametrize("rate", [0, 11])
def test_a_rate_that_is_too_high_is_refused(cluster, rate):
    with pytest.raises(KitError, match="greater than 0 and at most 10 readings per second"):
        CgroupWatch(cluster, rate=rate)


LEAK = POD.replace("memory=150Mi", "memory=400Mi").replace("busy", "leak")


def test_it_opens_with_half_a_minute_that_has_run_and_its_kills_are_marked_as_the_library_counts_them():
    with Cluster.simulated(1, cpus=2) as made:
        made.apply(LEAK)
        watch = CgroupWatch(made)
        samples = list(watch.live.samples)
        assert samples[-1][0] - samples[0][0] == pytest.approx(30)
        killed = sum("Killed process" in line for line in made.node().kernel_log())
        assert killed > 1
        assert [mark["name"] for mark in watch.live.marks] == ["leak/app"] * killed
        assert watch.live.limits == {"leak/app": 200 * 2**20}  # kept while the container waits to be restarted
        assert watch.sentence.count("killed 137") == killed


def test_the_comb_shows_what_cpu_stat_counts():
    with Cluster.simulated(1, cpus=2) as made:
        made.apply(POD)
        watch = CgroupWatch(made, metric="throttled")
        parts = [one[0] for one in watch.live._parts if one and one[0]]
        assert len(parts) == 300
        ran, stopped = (sum(part[i] for part in parts) / len(parts) for i in (0, 1))
        path = next(c.path for c in made.node().desired().of_kind("container"))
        stat = dict(line.split() for line in made.node().read(path, "cpu.stat").splitlines())
        used, held = int(stat["usage_usec"]), int(stat["throttled_usec"])
        assert ran / stopped == pytest.approx(
            used / held, rel=0.05
        )  # the sum may exceed the period: then in proportion


def test_what_a_container_requests_is_shown_in_the_unit_of_the_metric(cluster):
    cluster.apply(
        POD.replace("busy", "asks").replace("limits: {cpu: 500m, memory: 200Mi}", "requests: {cpu: 250m, memory: 64Mi}")
    )
    watch = CgroupWatch(cluster)
    assert watch.live.requests["asks/app"] == 64 * 2**20
    watch.metric.value = "cpu"
    assert watch.live.requests["asks/app"] == 0.25
