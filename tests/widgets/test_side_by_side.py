"""Two pods side by side: values that differ are marked, those that only one has are shown as missing."""

import pytest

from kitlib.cluster import Cluster
from kitlib.widgets import SideBySide
from kitlib.widgets._parts.pod_form import EXAMPLE, PodForm


@pytest.fixture
def both():
    return SideBySide()


def test_class_weight_and_score_of_the_two_examples_differ(both):
    frame = both.frame().set_index("value")
    assert list(frame.loc["QoS class"])[:2] == ["Burstable", "Guaranteed"]
    assert frame.loc["container oom_score_adj", "db"] == "-997"
    assert not frame.loc["pod cpu.weight", "same"] and frame.loc["pod memory.max", "same"]
    assert "4 of 10 values differ" in both.sentence


def test_typing_on_one_side_moves_the_comparison(both):
    both.right.yaml = EXAMPLE.replace("name: web", "name: twin")
    assert "0 of 10 values differ" in both.sentence
    both.right.rows[0].amounts["requests", "cpu"].amount = "500m"
    assert "pod cpu.weight" in both.sentence


def test_what_only_one_has_is_missing_on_the_other_side(both):
    both.right.rows[0].amounts["limits", "memory"].amount = ""
    frame = both.frame().set_index("value")
    assert frame.isna().loc["pod memory.max", "db"]


def test_the_picture_has_what_differs_and_the_table_everything(both):
    def drawn():
        return [name.removeprefix("≠ ") for name in both._chart.plain()["data"][0]["y"]]

    frame = both.frame()
    assert sorted(drawn()) == sorted(frame.value[~frame.same]) and len(frame) == 10
    both.different.value = False
    assert len(drawn()) == 10
    both.different.value = True
    both.right.yaml = EXAMPLE.replace("name: web", "name: twin")
    assert len(drawn()) == 10, "no value differs: the picture is not empty"


def test_the_values_are_those_of_the_nodes_own_cgroup_version():
    with Cluster.simulated(1, cgroup_version=1) as cluster:
        both = SideBySide(node=cluster.node())
    assert "pod cpu.shares" in set(both.frame().value)


def test_two_pods_of_the_same_name_can_be_told_apart():
    both = SideBySide(EXAMPLE, EXAMPLE)
    assert list(both.frame().columns) == ["value", "web (left)", "web (right)", "same"]


def test_a_bad_pod_on_one_side_is_explained_there_and_the_picture_stays(both):
    before = both.sentence
    both.left.rows[0].amounts["requests", "cpu"].amount = "5"
    assert "must be less than or equal to cpu limit" in both.left.rows[0].amounts["requests", "cpu"].problem
    assert both.sentence == before


def test_a_form_over_its_folded_yaml_is_as_high_as_its_content(both):
    for form in (both.left, both.right):
        assert [part.layout.flex for part in form.children[0].children] == [None, None]
    assert all(part.layout.flex for part in PodForm().children[0].children), "beside each other, they share the width"
