"""`kitlib explain`: a dump of a cluster, a pending pod, the reasons, and the smallest change that lets it in."""

from __future__ import annotations

import io
import json

import pytest

from kitlib import cli
from kitlib.advisor.dump import Dump
from kitlib.advisor.message import decode
from kitlib.advisor.remedies import remedies
from kitlib.api.errors import KitError
from kitlib.api.release import Release

NODES = """
apiVersion: v1
kind: List
items:
- kind: Node
  apiVersion: v1
  metadata: {name: alpha, labels: {disk: hdd, topology.kubernetes.io/zone: z1, kubernetes.io/hostname: alpha}}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
- kind: Node
  apiVersion: v1
  metadata: {name: beta, labels: {disk: ssd, topology.kubernetes.io/zone: z2, kubernetes.io/hostname: beta}}
  spec: {taints: [{key: team, value: data, effect: NoSchedule}]}
  status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
- kind: Pod
  apiVersion: v1
  metadata: {name: web, namespace: default, labels: {app: web}}
  spec: {nodeName: alpha, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
  status: {phase: Running}
- kind: Pod
  apiVersion: v1
  metadata: {name: job, namespace: default}
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]MORE}
  status: {phase: Pending}
"""


def text(more: str = "") -> str:
    return NODES.replace("MORE", more)


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str, more: str = ""
) -> tuple[int, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text(more)))
    code = cli.main(["explain", *arguments])
    return code, capsys.readouterr().out


def found(more: str = "") -> list[str]:
    dump = Dump.read(text(more))
    return [str(one) for one in remedies(dump, dump.pod())]


def test_a_pending_pod_is_explained_with_what_would_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = run(capsys, monkeypatch)
    assert code == 1
    assert "Insufficient cpu (alpha)" in out and "0 of 2 nodes pass every filter" in out
    assert "- tolerate the taint team=data:NoSchedule: it goes to beta" in out
    assert "- request 1 cpu instead of 2: it goes to alpha" in out


def test_a_pod_that_fits_needs_no_remedy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = run(capsys, monkeypatch, more=", tolerations: [{operator: Exists}]")
    assert code == 0 and "It goes to beta" in out and "smallest" not in out


def test_two_changes_are_found_where_one_is_not_enough() -> None:
    answers = found(", nodeSelector: {disk: nvme}")
    assert "tolerate the taint team=data:NoSchedule and drop nodeSelector disk=nvme: it goes to beta" in answers
    assert all(" and " in answer for answer in answers)


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        (", nodeSelector: {disk: hdd}", "request 1 cpu instead of 2: it goes to alpha"),
        (", nodeSelector: {disk: hdd}", "add a node like alpha: it goes to alpha-more"),
    ],
)
def test_a_request_is_lowered_or_a_node_is_added(more: str, answer: str) -> None:
    assert answer in found(more)


def test_json_carries_the_same(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = run(capsys, monkeypatch, "default/job", "--json")
    answer = json.loads(out)
    assert code == 1 and answer["nodes"]["alpha"] == ["Insufficient cpu"] and answer["remedies"]
    assert answer["message"].startswith("0/2 nodes are available: ")


def test_redacted_output_holds_none_of_the_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out = run(capsys, monkeypatch, "--redact", more=", nodeSelector: {disk: nvme}")
    for name in ("team", "data", "nvme", "disk", "job", "web"):
        assert name not in out.replace("untolerated taint", "")
    assert "alpha" not in out and "beta" not in out
    assert "node-1" in out and "NodeAffinity: node(s) didn't match Pod's node affinity/selector" in out


def test_how_many_more_fit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = run(capsys, monkeypatch, "--how-many", "--json", more=", tolerations: [{operator: Exists}]")
    answer = json.loads(out)
    assert code == 0 and answer["fit"] == 4 and answer["nodes"] == {"beta": 4}
    assert "Insufficient cpu" in answer["then"]


def test_a_pod_that_stands_stays_where_it_is_when_more_of_it_are_counted() -> None:
    dump = Dump.read(text().replace('requests: {cpu: "3"}', 'requests: {cpu: "2"}'))
    placed, stop = dump.how_many(dump.pod("web"))
    assert placed == {"alpha": 1} and stop is not None and "Insufficient cpu" in stop.message
    assert dump.how_many(dump.pod("job"))[0] == {"alpha": 1}


def test_a_bare_message_is_taken_apart(capsys: pytest.CaptureFixture[str]) -> None:
    message = (
        "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint {a: b, c}. preemption: 0/5 nodes "
        "are available: 2 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
    )
    assert decode(message) == {
        "nodes": 5,
        "reasons": {"Insufficient cpu": 2, "node(s) had untolerated taint {a: b, c}": 3},
        "preemption": {
            "No preemption victims found for incoming pod": 2,
            "Preemption is not helpful for scheduling": 3,
        },
    }
    assert cli.main(["explain", "--message", message]) == 0
    assert "2 × Insufficient cpu" in capsys.readouterr().out
    with pytest.raises(KitError):
        decode("all is well")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], 'pods "nobody" not found'),
        (["-f", "/no/such/file"], "/no/such/file: cannot be read"),
        (["--release", "1.5"], "the kit follows"),
    ],
)
def test_bad_input_is_said_in_words(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text()))
    assert cli.main(["explain", *arguments]) == 2
    assert words in capsys.readouterr().err


CLAIM = ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"


def test_claims_that_were_not_printed_are_left_out_and_the_answer_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = run(capsys, monkeypatch, more=CLAIM)
    assert code == 1 and "Insufficient cpu" in out and "not found" not in out
    assert "Not taken into account: PersistentVolumeClaim: the pod's volume claims: none of this kind" in out


def test_a_claim_that_is_missing_among_others_is_a_reason() -> None:
    other = "- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: other, namespace: default}, spec: {}}\n"
    dump = Dump.read(text(CLAIM) + other)
    assert 'persistentvolumeclaim "data" not found' in dump.explain(dump.pod()).message
    assert not dump.left_out


def test_of_changes_that_go_ever_further_only_the_least_that_helps_is_an_answer() -> None:
    spread = (
        ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"
    )
    nodes = text(spread).replace("name: job, namespace: default", "name: job, namespace: default, labels: {app: web}")
    dump = Dump.read(nodes.replace('{cpu: "2"}', "{cpu: 100m}"))
    ways = [str(one) for one in remedies(dump, dump.pod())]
    assert sum("raise maxSkew" in way for way in ways) == 1
    assert "raise maxSkew of topology.kubernetes.io/zone to 2: it goes to alpha" in ways


def test_a_foreign_scheduler_is_named_and_no_event_is_promised(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = run(capsys, monkeypatch, more=", schedulerName: my-scheduler, tolerations: [{operator: Exists}]")
    assert code == 3
    assert "asks for the scheduler 'my-scheduler': the default scheduler does not look at it" in out
    assert "The event says" not in out


def test_a_gated_pod_has_a_condition_and_no_event(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = run(capsys, monkeypatch, more=", schedulingGates: [{name: wait}], tolerations: [{operator: Exists}]")
    assert code == 1 and "The event says" not in out
    assert "Scheduling is blocked due to non-empty scheduling gates" in out
    assert "remove the" not in out and "once it is let through, 1 of 2 nodes pass every filter" in out


def test_a_pod_that_runs_is_said_to_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = run(capsys, monkeypatch, "web")
    assert code == 0
    assert out.startswith("Pod default/web is bound to alpha (Running).")
    assert "If it were scheduled anew: Pod default/web:" in out


def test_labelling_a_node_is_an_answer_to_a_selector() -> None:
    more = ", nodeSelector: {disk: nvme}, tolerations: [{operator: Exists}]"
    assert "label node beta with disk=nvme: it goes to beta" in found(more)


def test_a_node_as_large_as_the_request_is_an_answer() -> None:
    manifest = text(", tolerations: [{operator: Exists}]").replace('requests: {cpu: "2"}', 'requests: {cpu: "50"}')
    dump = Dump.read(manifest)
    answers = [str(one) for one in remedies(dump, dump.pod())]
    assert "add a node with 50 cpu left for pods: it goes to beta-more" in answers


def test_host_ports_can_be_dropped_without_any_affinity() -> None:
    manifest = text(", tolerations: [{operator: Exists}]").replace(
        "containers: [{name: c, image: i, resources: {requests: {cpu",
        "containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80}], resources: {requests: {cpu",
    )
    manifest += (
        manifest[manifest.index("- kind: Pod") : manifest.rindex("- kind: Pod")]
        .replace("name: web", "name: more")
        .replace("nodeName: alpha", "nodeName: beta")
    )
    dump = Dump.read(manifest)
    assert "drop the host ports: it goes to beta" in [str(one) for one in remedies(dump, dump.pod())]


def test_only_the_smallest_node_that_helps_is_proposed() -> None:
    answers = [one for one in found(", nodeSelector: {disk: hdd}") if one.startswith("add a node")]
    assert answers == ["add a node like alpha: it goes to alpha-more"]


def test_what_was_left_out_is_said_only_of_pods_that_it_concerns() -> None:
    claim = "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"
    dump = Dump.read(text().replace("spec: {nodeName: alpha,", f"spec: {{{claim}, nodeName: alpha,"))
    assert dump.left_out_of(dump.pod("job")) == ""
    assert "PersistentVolumeClaim" in dump.left_out_of(dump.pod("web"))


def test_a_claim_that_is_missing_where_claims_were_listed_keeps_the_pod_out() -> None:
    from kitlib.api.serialize import load, to_dict

    claim = ", volumes: [{name: v, persistentVolumeClaim: {claimName: nope}}]"
    items = [to_dict(one) for one in load(text(claim))]
    dump = Dump.of_items(items, listed=["PersistentVolumeClaim", "PersistentVolume", "StorageClass"])
    message = dump.explain(dump.pod()).message
    assert message == '0/2 nodes are available: persistentvolumeclaim "nope" not found. not found'


NEWER = text().replace('allocatable: {cpu: "4"', 'nodeInfo: {kubeletVersion: v1.99.0}, allocatable: {cpu: "4"')


def test_a_node_of_a_release_that_the_kit_does_not_know_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(NEWER))
    cli.main(["explain", "job", "--no-remedies"])
    newest = Release.latest()
    assert (
        f"A release that is not known: node alpha of v1.99.0: not known here, decided as {newest}."
        in capsys.readouterr().out
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(NEWER))
    cli.main(["explain", "job", "--no-remedies", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer["release"], answer["unknownReleases"]) == (str(newest), {"v1.99.0": ["alpha"]})


def test_nothing_is_said_of_releases_that_the_kit_follows() -> None:
    dump = Dump.read(NEWER.replace("v1.99.0", f"v{Release.latest()}.9"))
    assert (dump.unknown_releases, dump.unknown_release_text) == ({}, "")


def test_a_pod_of_a_group_is_said_to_wait_for_what_the_kit_does_not_model(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ", schedulingGroup: {podGroupName: gang}, tolerations: [{operator: Exists}]"
    code, out = run(capsys, monkeypatch, "--json", more=more)
    answer = json.loads(out)
    assert code == 3 and answer["verdict"] == "uncertain"
    assert [(one["field"], one["decides"]) for one in answer["notModelled"]] == [("spec.schedulingGroup", True)]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            "Warning  FailedMount  2m  kubelet  no configmap",
            "Stage volumes: kubelet reported FailedMount: no configmap",
        ),
        ("Warning  FailedCreatePodSandBox  2m  kubelet  no network", "Stage start: kubelet reported FailedCreatePod"),
        ("Normal  Pulling  2m  kubelet  pulling", "The newest event: kubelet reported Pulling: pulling"),
        (
            "Warning  FailedScheduling  9m  default-scheduler  0/1 nodes are available: 1 Insufficient cpu.\n"
            "  Warning  FailedMount  2m  kubelet  no configmap",
            "Stage volumes",
        ),
    ],
    ids=["volume", "sandbox", "another event", "after the scheduler's refusal"],
)
def test_a_description_is_explained_by_its_newest_event(events, said, tmp_path, capsys):
    file = tmp_path / "described.txt"
    file.write_text(f"Name:             web-0\nNamespace:        shop\nEvents:\n  {events}\n")
    assert cli.main(["explain", "-f", str(file)]) == 0
    assert capsys.readouterr().out.startswith(said)
