"""The pod builder: form and YAML are one pod, messages stand beside their field, files are the kubelet's."""

import html

import pytest

from kitlib.api.serialize import load
from kitlib.charts.pod_box import HEIGHT, TOP
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.widgets import PodBuilder
from kitlib.widgets._parts.pod_form import EXAMPLE


@pytest.fixture
def builder():
    return PodBuilder()


def amount(builder, what, resource, row=0):
    return builder.form.rows[row].amounts[(what, resource)]


def test_what_is_typed_in_the_form_stands_in_the_yaml(builder):
    amount(builder, "requests", "cpu").amount = "500m"
    amount(builder, "limits", "memory").amount = "1Gi"
    pod = load(builder.form.yaml)[0]
    assert str(pod.spec.containers[0].resources.requests["cpu"]) == "500m"
    assert str(pod.spec.containers[0].resources.limits["memory"]) == "1Gi"
    assert pod.spec.containers[0].image == "registry.k8s.io/pause:3.10"


def test_what_is_typed_as_yaml_stands_in_the_form(builder):
    builder.form.yaml = EXAMPLE.replace("cpu: 250m", "cpu: 700m").replace("name: app", "name: server")
    assert amount(builder, "requests", "cpu").amount == "700m"
    assert amount(builder, "requests", "cpu").slider.value == "500m"
    assert builder.form.rows[0].name.value == "server"
    assert "server" in builder.frame().cgroup.str.cat()


def test_the_slider_sets_the_text_and_follows_it(builder):
    field = amount(builder, "requests", "cpu")
    field.slider.value = "100m"
    assert field.amount == "100m" and "cpu: 100m" in builder.form.yaml
    field.slider.value = "not set"
    assert field.amount == ""
    assert "cpu" not in load(builder.form.yaml)[0].spec.containers[0].resources.requests


@pytest.mark.parametrize(
    ("amounts", "qos"),
    [
        ({}, "BestEffort"),
        ({("requests", "cpu"): "100m"}, "Burstable"),
        ({("limits", "cpu"): "1", ("limits", "memory"): "1Gi"}, "Guaranteed"),
    ],
)
def test_the_class_follows_the_amounts(builder, amounts, qos):
    for what in ("requests", "limits"):
        for resource in ("cpu", "memory"):
            amount(builder, what, resource).amount = ""
    for (what, resource), text in amounts.items():
        amount(builder, what, resource).amount = text
    assert builder.qos == qos
    assert builder.sentence.startswith(f"QoS class {qos}")


@pytest.mark.parametrize(("version", "file"), [(1, "cpu.shares"), (2, "cpu.weight")])
def test_the_files_are_those_of_the_kubelets_rules(builder, version, file):
    builder.version.value = version
    node = NodeConfig(machine=MachineInfo.declare(4, "8Gi"))
    tree = desired_tree(node, [builder.pod], version=version)
    frame = builder.frame()
    for cgroup in tree.of_pod(builder.pod.metadata.uid):
        mine = frame[frame.cgroup == cgroup.title]
        assert dict(zip(mine.file, mine.value, strict=True)).get(file) == cgroup[file].shown


@pytest.mark.parametrize(
    ("what", "resource", "text", "message"),
    [
        ("requests", "cpu", "abc", "quantities must match the regular expression"),
        ("requests", "cpu", "2", "must be less than or equal to cpu limit of 1"),
        ("requests", "memory", "-1", "must be greater than or equal to 0"),
        ("requests", "memory", "1Gi", "must be less than or equal to memory limit of 256Mi"),
    ],
)
def test_a_problem_is_said_beside_its_own_field_and_the_last_good_pod_stays(builder, what, resource, text, message):
    before = builder.sentence
    amount(builder, what, resource).amount = text
    assert message in amount(builder, what, resource).problem
    others = [f.problem for key, f in builder.form.rows[0].amounts.items() if key != (what, resource)]
    assert others == ["", "", ""]
    assert builder.sentence == before
    amount(builder, what, resource).amount = ""
    assert builder.form.problems == []


def test_a_bad_name_is_said_beside_the_name(builder):
    builder.form._name.control.value = "Web_1"
    assert "RFC 1123" in builder.form._name.problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML"),
        ("", "got nothing"),
        (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
            "the manifest must contain one Pod, got Deployment",
        ),
        (EXAMPLE.replace("cpu: 250m", "cpuu: 1"), "cpuu"),
        (EXAMPLE.replace("containers:", "contaners:"), "unknown field"),
    ],
)
def test_yaml_that_is_no_pod_is_explained_and_the_last_good_pod_stays(builder, text, message):
    before = builder.pod
    builder.form.yaml = text
    said = builder.form._rest.value + "".join(f.problem for f in builder.form._fields().values())
    assert message in said
    assert builder.pod is before
    builder.form.yaml = EXAMPLE
    assert builder.form._rest.value == ""


def test_containers_come_and_go_and_sidecars_count_as_running(builder):
    builder.form._add.click()
    row = builder.form.rows[-1]
    row.amounts[("requests", "memory")].amount = "64Mi"
    row.kind.control.value = "sidecar"
    assert load(builder.form.yaml)[0].spec.init_containers[0].restart_policy == "Always"
    assert "container container-1" in set(builder.frame().cgroup)
    row.kind.control.value = "init container"
    assert "container container-1" not in set(builder.frame().cgroup)
    builder.form._remove_container(row)
    assert not load(builder.form.yaml)[0].spec.init_containers


def test_fields_that_the_form_does_not_know_are_kept(builder):
    builder.form.yaml = EXAMPLE.replace("spec:", "spec:\n  priorityClassName: high\n  nodeSelector: {disk: ssd}", 1)
    amount(builder, "requests", "cpu").amount = "300m"
    pod = load(builder.form.yaml)[0]
    assert (pod.spec.priority_class_name, pod.spec.node_selector) == ("high", {"disk": "ssd"})


def test_oom_score_adj_is_shown_for_every_container(builder):
    frame = builder.frame()
    row = frame[frame.file == "/proc/PID/oom_score_adj"].iloc[0]
    assert row.value == "985"  # 1000 - 1000 * 128Mi / 8Gi, in whole numbers


@pytest.mark.parametrize(
    ("amounts", "field", "said"),
    [
        ({("requests", "cpu"): "100", ("limits", "cpu"): ""}, ("requests", "cpu"), "Did you mean 100m?"),
        ({("requests", "cpu"): "5", ("limits", "cpu"): ""}, ("requests", "cpu"), "4000m are allocatable"),
        ({("limits", "cpu"): "6"}, ("limits", "cpu"), "above the node's 4000m: this limit is never reached"),
        ({("limits", "memory"): "16Gi"}, ("limits", "memory"), "this limit is never reached"),
        ({("limits", "cpu"): "5m", ("requests", "cpu"): ""}, ("limits", "cpu"), "the container gets 10m"),
        (
            {("requests", "memory"): "128m", ("limits", "memory"): ""},
            ("requests", "memory"),
            "128m is 1 byte: did you mean 128M or 128Mi?",
        ),
        (
            {("requests", "memory"): "512", ("limits", "memory"): ""},
            ("requests", "memory"),
            "512 is 512 bytes: did you mean 512M or 512Mi?",
        ),
        (
            {("requests", "cpu"): "1500m", ("limits", "cpu"): "1500m", ("requests", "memory"): "256Mi"},
            ("requests", "cpu"),
            "gives no exclusive CPU. Did you mean 2?",
        ),
        ({("requests", "memory"): "128MB"}, ("requests", "memory"), "Did you mean 128M or 128Mi?"),
        (
            {("requests", "memory"): "300Mi", ("limits", "memory"): "128Mi"},
            ("requests", "memory"),
            "Raise the limit to 300Mi, or lower the request to 128Mi.",
        ),
        ({("requests", "cpu"): "500m"}, None, ""),
        ({("requests", "cpu"): "1", ("requests", "memory"): "256Mi"}, None, ""),
    ],
)
def test_what_makes_no_sense_is_said_beside_its_field_with_what_was_meant(builder, amounts, field, said):
    for (what, resource), text in amounts.items():
        amount(builder, what, resource).amount = text
    notes = {key: one._note.value for key, one in builder.form.rows[0].amounts.items()}
    assert [key for key, note in notes.items() if note] == ([field] if field else [])
    assert not field or said in html.unescape(notes[field])


def test_containers_that_fit_one_by_one_but_not_together_are_told(builder):
    amount(builder, "requests", "cpu").amount, amount(builder, "limits", "cpu").amount = "3", ""
    builder.form._add.click()
    amount(builder, "requests", "cpu", row=1).amount = "2"
    said = amount(builder, "requests", "cpu", row=1)._note.value
    assert "all containers together request 5000m of 4000m: the pod stays pending." in said
    amount(builder, "requests", "cpu", row=1).amount = "1"
    assert amount(builder, "requests", "cpu", row=1)._note.value == ""


def test_the_pods_part_of_the_node_is_said(builder):
    assert "It requests 6% of the CPU and 2% of the memory of the node." in builder.sentence
    assert "It may use 25% of the CPU and 3% of the memory of the node." in builder.sentence
    assert "6% reserved, up to 25%" in builder.drawing.body


def drag(builder, handle, value, end, done=True):
    """Drag a lid or a box's edge to an amount, on a scale that ends at `end`."""
    y = TOP + HEIGHT * (1 - value / end)
    builder.drawing.act("drag", what=handle, x=0, y=y, done=done)


def test_a_lid_that_is_dragged_onto_its_box_makes_the_pod_guaranteed(builder):
    drag(builder, "0 cpu limits", 250, 2000)
    assert amount(builder, "limits", "cpu").amount == "250m" and builder.qos == "Burstable"
    drag(builder, "0 memory limits", 2**20, 512 * 2**20)  # below the box: it stops there
    assert amount(builder, "limits", "memory").amount == "128Mi" and builder.qos == "Guaranteed"
    assert "thick outline" in builder.drawing.body


def test_a_box_stops_at_its_lid_and_the_scale_stays_while_it_is_dragged(builder):
    drag(builder, "0 cpu requests", 1900, 2000, done=False)
    assert amount(builder, "requests", "cpu").amount == "1"
    drag(builder, "0 cpu limits", 1200, 2000, done=False)
    assert amount(builder, "limits", "cpu").amount == "1200m"
    assert 'aria-valuemax="2000"' in builder.drawing.body
    drag(builder, "0 cpu limits", 2100, 2000)
    assert amount(builder, "limits", "cpu").amount == "" and "no limit" in builder.drawing.body


def test_keys_move_lids_and_unset_them(builder):
    builder.drawing.act("step", what="0 memory limits", by=1)
    assert amount(builder, "limits", "memory").amount == "272Mi"
    builder.drawing.act("unset", what="0 memory requests")
    assert amount(builder, "requests", "memory").amount == ""  # the API server sets it to the limit
    builder.drawing.act("unset", what="0 memory limits")
    assert amount(builder, "limits", "memory").amount == "" and "no request" in builder.drawing.body


def test_files_that_a_change_has_changed_are_tinted(builder):
    assert "kitlib-flash" not in builder._table.value
    builder.drawing.act("step", what="0 cpu limits", by=1)
    lines = [line for line in builder._table.value.split("<tr") if "kitlib-flash" in line]
    assert len(lines) == 2 and all("cpu.max" in line for line in lines)
