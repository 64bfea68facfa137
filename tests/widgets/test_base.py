"""What all widgets share: errors become sentences, the last picture stays, streams end, names are looked up late."""

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace

import ipywidgets as ipw
import pytest

import kitlib.widgets
from kitlib.api.errors import KitError
from kitlib.charts import spread_map
from kitlib.cluster import Cluster
from kitlib.widgets import CgroupTreeExplorer, CgroupWatch, PodBuilder, Timeline
from kitlib.widgets._parts import base
from kitlib.widgets._parts.base import ChartPicture, Field, KitWidget, Ticker, labelled


class Probe(KitWidget):
    title = "probe"

    def __init__(self):
        self.pods = labelled(ipw.IntSlider(value=1, min=0, max=9), "pods")
        self.pods.observe(self.refresh, "value")
        super().__init__([self.pods])
        self.refresh()

    def chart(self):
        if self.pods.value == 9:
            raise KitError("spec.replicas: Invalid value: 9: must be less than 9")
        return spread_map(["zone1"], [["a", "b"]], [[self.pods.value, 1]])


def test_a_control_changes_picture_sentence_table_and_what_a_screen_reader_hears():
    probe = Probe()
    probe.pods.value = 4
    assert "zone1 5" in probe.sentence
    assert probe._access.sentence == probe.sentence
    assert "zone1 5" in probe._sentence.value and "<table>" in probe._table.value
    assert probe._picture.figure["data"][0]["z"][0][0] == 4
    assert len(probe.frame()) == 2


def test_a_quiet_line_says_where_the_values_come_from():
    assert Probe()._origin.value == '<p class="kitlib-muted">Values: computed from Kubernetes&#x27; rules.</p>'
    with Cluster.simulated(1, cgroup_version=1) as cluster:
        for widget in (CgroupTreeExplorer(cluster), CgroupWatch(cluster), Timeline(cluster)):
            assert "Values: simulated node node-1, cgroup v1." in widget._origin.value
    assert "rules for cgroup v2" in PodBuilder()._origin.value


def test_bad_input_becomes_a_sentence_and_the_last_picture_stays():
    probe = Probe()
    probe.pods.value = 9
    assert "must be less than 9" in probe.problem and 'role="alert"' in probe.problem
    assert "zone1 2" in probe.sentence
    probe.pods.value = 2
    assert probe.problem == ""


def test_without_a_kernel_a_widget_is_a_still_picture_with_its_table():
    bundle = Probe()._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and "<table>" in bundle["text/html"]
    assert bundle["text/plain"].startswith("probe: ")
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_closing_ends_what_was_registered():
    probe, ended = Probe(), []
    probe.on_close(lambda: ended.append("stream"))
    probe.close()
    assert ended == ["stream"]


def test_closing_leaves_no_part_behind():
    """ipywidgets keeps what is not closed: each rerun of a cell kept a third of a megabyte."""
    from ipywidgets.widgets.widget import _instances

    from kitlib.widgets import QueueTheatre, SideBySide

    for kind in (QueueTheatre, SideBySide):
        before = set(_instances)
        made = kind()
        assert len(set(_instances) - before) > 20
        made.close()
        assert not {type(_instances[one]).__name__ for one in set(_instances) - before}


def test_a_cell_that_runs_again_closes_what_it_made_before_but_not_what_it_makes_now(monkeypatch):
    run = ("cell-1", "first")
    monkeypatch.setattr("kitlib.widgets._parts.base._executing_cell", lambda: run)
    closed = []
    one, two = Probe(), Probe()
    for probe in (one, two):
        probe.on_close(lambda probe=probe: closed.append(probe))
    assert closed == []
    run = ("cell-1", "second")
    Probe()
    assert {id(p) for p in closed} == {id(one), id(two)}


def test_a_picture_that_has_not_changed_is_not_sent_again(monkeypatch):
    probe, sent = Probe(), []
    probe._picture.observe(lambda change: sent.append(change["new"]), "spec")
    probe.refresh()
    assert sent == []
    probe.pods.value = 3
    assert len(sent) == 1 and json.loads(sent[0])["data"][0]["z"][0][0] == 3


def test_a_picture_comes_with_its_widget_and_loads_nothing():
    script = ChartPicture._esm if isinstance(ChartPicture._esm, str) else str(ChartPicture._esm)
    assert len(script) < 30_000
    assert "http://" not in script and "https://" not in script
    assert "import(" not in script and "fetch(" not in script


def test_a_field_says_what_is_wrong_beside_its_control():
    field = Field(ipw.Text(), "cpu", "resources.requests[cpu]")
    field.say("must be <positive>")
    assert field.problem == "must be <positive>"
    assert "&lt;positive&gt;" in field._note.value and 'role="alert"' in field._note.value
    field.say("")
    assert field._note.value == ""


def test_a_ticker_beats_until_it_is_stopped_and_leaves_out_what_is_late():
    beats = []

    async def main():
        ticker = Ticker(lambda: beats.append(1), 0.01, pytest.fail)
        ticker.start()
        while len(beats) < 4:
            await asyncio.sleep(0.005)
        ticker.stop()
        await asyncio.sleep(0.05)
        counted = len(beats)
        await asyncio.sleep(0.05)
        assert len(beats) == counted and not ticker.running

    asyncio.run(main())


def test_an_error_ends_a_ticker_and_is_told():
    told = []

    def fail():
        raise KitError("the node is gone")

    async def main():
        ticker = Ticker(fail, 0.01, told.append)
        ticker.start()
        while not told:
            await asyncio.sleep(0.005)
        assert not ticker.running

    asyncio.run(main())
    assert str(told[0]) == "the node is gone"


def test_outside_a_notebook_a_ticker_says_that_it_cannot_run():
    with pytest.raises(KitError, match="requires the event loop"):
        Ticker(lambda: None, 1, pytest.fail).start()


def test_the_names_of_the_room_are_looked_up_when_they_are_used():
    code = (
        "import sys, kitlib.widgets as w; assert 'ipywidgets' not in sys.modules; w.PodBuilder; "
        "print([m for m in sys.modules if m.startswith('kitlib.widgets.oom')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_name_that_is_none_is_answered_with_those_that_are():
    with pytest.raises(AttributeError, match=r"valid values: .*PodBuilder"):
        kitlib.widgets.Podbuilder  # noqa: B018


@pytest.mark.parametrize("signature", ["channel", "none", "missing"])
def test_a_widget_is_made_whatever_kernel_runs_the_cell(signature: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ipykernel's get_parent takes a channel, Pyodide's takes nothing, and a kernel need not have one."""
    message = {"header": {"msg_type": "execute_request", "msg_id": "7"}, "metadata": {"cellId": "c"}}
    kernels = {
        "channel": SimpleNamespace(get_parent=lambda channel=None: message),
        "none": SimpleNamespace(get_parent=lambda: message),
        "missing": SimpleNamespace(),
    }
    shell = SimpleNamespace(kernel=kernels[signature])
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    assert base._executing_cell() == (("", "") if signature == "missing" else ("c", "7"))


def test_widgets_are_made_and_drawn_without_plotly_and_pandas() -> None:
    """A page loads these last, and may not load them at all."""
    code = (
        "import sys; sys.modules['plotly'] = sys.modules['pandas'] = None\n"
        "import kitlib.widgets as w\n"
        "for name in ('OomArena', 'PodBuilder', 'SharesRace', 'SideBySide', 'SpreadExplorer', 'ReleaseSwitch'):\n"
        "    one = getattr(w, name)()\n"
        "    assert one._chart is not None and 'text/plain' in one._repr_mimebundle_(), name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-1500:]


def test_a_widget_whose_package_is_missing_says_so_in_one_sentence() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import kitlib.widgets as w\n"
        "from kitlib.api.errors import KitError\n"
        "try: w.QueueTheatre\n"
        "except KitError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "QueueTheatre needs numpy, which could not be loaded here\n", done.stderr[-1500:]
