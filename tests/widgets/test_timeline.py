"""The timeline: four sources on one clock, nothing twice, filters, and newest lines first."""

import asyncio

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.kubelet.loop.timeline import TimelineEntry
from kitlib.widgets import Timeline

POD = """
apiVersion: v1
kind: Pod
metadata: {name: busy, annotations: {kitlib.dev/workload.app: "3s memory=100Mi; memory=300Mi"}}
spec:
  containers:
  - {name: app, image: x, resources: {limits: {memory: 200Mi}}}
"""


@pytest.fixture
def timeline():
    with Cluster.simulated(1) as cluster:
        made = Timeline(cluster)
        cluster.apply(POD)
        made._step(6)
        made.refresh()
        yield made


def test_all_four_sources_stand_on_one_clock(timeline):
    frame = timeline.frame()
    assert set(frame.source) == {"event", "kernel", "kubelet", "cgroup"}
    assert frame.seconds.is_monotonic_increasing
    killed = frame[frame.text.str.contains("Killed process")].iloc[0]
    assert killed.seconds == 3
    made = frame[(frame.source == "cgroup") & frame.text.str.startswith("made") & (frame.object == "busy/app")].iloc[0]
    assert made.seconds <= 3


def test_the_picture_ends_now_though_nothing_has_happened_for_a_while(timeline):
    assert ">now<" not in timeline._picture.body, "the last entry is of now"
    timeline.words.value = "Killed process"
    timeline._step(4)
    timeline.refresh()
    assert list(timeline.frame().seconds) == [3, 6]
    assert "4 s without an entry" in timeline._picture.body and ">10 s<" in timeline._picture.body


def test_nothing_is_told_twice(timeline):
    before = len(timeline.frame())
    timeline.look.click()
    assert len(timeline.frame()) == before


def test_a_file_written_by_hand_is_seen(timeline):
    timeline._cluster.node().write("/kubepods/burstable", "cpu.weight", "55")
    timeline.look.click()
    last = timeline.frame().iloc[-1]
    assert (last.source, last.object) == ("cgroup", "/kubepods/burstable")
    assert last.text.endswith("is now 55")


def test_a_change_is_dated_when_it_was_made_and_not_when_it_is_looked_at():
    with Cluster.simulated(1) as cluster:
        made = Timeline(cluster)
        cluster.advance(7)
        cluster.apply(POD.replace("memory=300Mi", "memory=150Mi"))
        cluster.advance(4)
        cluster.node().write("/kubepods/burstable", "cpu.weight", "55")
        cluster.advance(20)
        made.refresh()
        frame = made.frame()
        changes = frame[frame.source == "cgroup"]
        born = changes[changes.text.str.startswith("made") & (changes.object == "busy/app")]
        assert list(born.seconds) == [7]
        assert changes[changes.text.str.endswith("is now 55")].seconds.iloc[0] == 11
        cluster.delete("Pod", "busy", grace=0)
        cluster.advance(30)
        made.refresh()
        frame = made.frame()
        gone = frame[(frame.source == "cgroup") & frame.text.str.startswith("removed")]
        assert len(gone) and gone.seconds.max() < 45, "the pod's cgroups went when it was deleted, at 31 s"


@pytest.mark.parametrize(
    ("detail", "files"),
    [("memory.max=1, cpu.weight=2", ["memory.max", "cpu.weight"]), ("", []), ("grace 30 s", [])],
)
def test_what_the_kubelet_notes_names_the_files_that_it_wrote(detail, files):
    assert TimelineEntry(1.0, "podContainerManager", "writing", "/kubepods", detail).files() == files


def test_sources_and_words_can_be_chosen(timeline):
    for name, box in timeline.sources.items():
        box.value = name == "kernel"
    assert set(timeline.frame().source) == {"kernel"}
    timeline.words.value = "KILLED"
    assert len(timeline.frame()) >= 1 and timeline.frame().text.str.lower().str.contains("kill").all()
    timeline.words.value = "no such thing"
    assert timeline.sentence == "Nothing has happened yet."


def test_the_table_shows_the_newest_first(timeline):
    table = timeline._table.value
    assert table.index("<td>6</td>") < table.index("<td>3</td>") if "<td>6</td>" in table else "<td>" in table


def test_it_goes_on_by_itself_while_it_is_live():
    async def main():
        with Cluster.simulated(1) as cluster:
            made = Timeline(cluster)
            made._beat.seconds = 0.01
            made.live.value = True
            while cluster.clock.seconds < 2:
                await asyncio.sleep(0.01)
            made.close()
            assert not made._beat.running

    asyncio.run(main())


def test_something_that_is_no_cluster_is_refused():
    with pytest.raises(KitError, match="must be a cluster, got str"):
        Timeline("x")
