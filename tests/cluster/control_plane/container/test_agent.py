"""A control plane over two pipes, and what may travel over them."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.api.errors import AlreadyExists, Conflict, Forbidden, Invalid, KitError, ManifestError, NotFound
from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.store import ResourceExpired
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.autoscaler import Autoscaler
from kitlib.cluster.control_plane.container import agent, wire
from kitlib.cluster.control_plane.container.agent import _API, LOOK, ControlledCluster, ControlPlane
from kitlib.cluster.control_plane.container.client import RemoteAPIServer, why_in_process
from kitlib.cluster.control_plane.container.replica import Replica
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.nodes.plan import plan
from kitlib.node.real import protocol


def pod(name: str, cpu: str = "100m") -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


class Owner:
    """Asks a control plane that runs on a thread of this process."""

    def __init__(self) -> None:
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        self._rest, self._number = b"", 0
        self._thread = threading.Thread(target=ControlPlane(reads, writes).run)
        self._thread.start()
        self._held = (reads, writes)

    def ask(self, do: str, **about: Any) -> dict[str, Any]:
        self._number += 1
        os.write(self._to, protocol.encode({"id": self._number, "do": do, **about}))
        while b"\n" not in self._rest:
            self._rest += os.read(self._from, 1 << 16)
        line, _, self._rest = self._rest.partition(b"\n")
        answer = protocol.decode(line)
        assert answer["id"] == self._number
        return answer

    def close(self) -> None:
        os.close(self._to)
        self._thread.join(5)
        assert not self._thread.is_alive()
        for descriptor in (self._from, *self._held):
            os.close(descriptor)


@pytest.fixture
def owner() -> Iterator[Owner]:
    made = Owner()
    yield made
    made.close()


def begin(owner: Owner, **settings: Any) -> dict[str, Any]:
    wanted = {"release": Release.latest(), "seed": 1, "scheduler": None, **settings}
    return owner.ask("begin", version=wire.VERSION, settings=wire.pack(wanted))


def apply(owner: Owner, *objects: dict[str, Any], since: int = 0) -> dict[str, Any]:
    located = [[one, "a.yaml", number] for number, one in enumerate(objects, 1)]
    return owner.ask("apply", action="apply", objects=located, create_only=False, since=since)


def test_changes_make_a_copy_that_is_the_same_as_the_original(owner: Owner) -> None:
    assert begin(owner)["ok"] is None
    copy = Replica()
    answer = apply(owner, pod("a"), pod("b"))
    assert [made["metadata"]["name"] for made in answer["ok"]] == ["a", "b"]
    copy.absorb(answer["changes"], answer["version"])
    assert [p.name for p in copy.list("Pod")] == ["a", "b"]
    owner.ask("call", method="delete", arguments=["Pod", "a", "default"], named={"grace": 0})
    answer = owner.ask("changes", since=copy.version)
    watch = copy.watch("Pod")
    copy.absorb(answer["changes"], answer["version"])
    assert [p.name for p in copy.list("Pod")] == ["b"]
    assert [(e.type, e.object.name) for e in watch] == [("DELETED", "a")]
    assert copy.get("Pod", "b", "default").status.conditions[0].reason == "Unschedulable"
    assert answer["version"] == copy.version
    assert [entry["action"] for entry in answer["journal"]] == ["apply", "delete"]


def test_a_dry_run_is_checked_as_ever_and_does_not_stand(owner: Owner) -> None:
    begin(owner)
    version = apply(owner, pod("a"))["version"]
    answer = owner.ask("api", method="create", object=pod("b"), dry_run=True, since=version)
    assert answer["ok"]["object"]["metadata"]["name"] == "b"
    refused = owner.ask("api", method="create", object=pod("a"), dry_run=True, since=version)
    assert isinstance(wire.error_from_data(refused["error"]), AlreadyExists)
    how = {"namespace": "default", "grace": 0, "propagation": "Background", "dry_run": True, "request": {}}
    assert "error" not in owner.ask("api_delete", kind="Pod", name="a", since=version, **how)
    gone = owner.ask("api_delete", kind="Pod", name="b", since=version, **how)
    assert isinstance(wire.error_from_data(gone["error"]), NotFound)
    answer = owner.ask("changes", since=version)
    assert [data["metadata"]["name"] for _, data in answer["changes"] if data["kind"] == "Pod"] == []
    assert [entry["action"] for entry in answer["journal"]] == ["apply"]


def test_a_scale_is_written_as_one(owner: Owner) -> None:
    """A policy about the workload is not asked."""
    begin(owner)
    labels = {"matchLabels": {"app": "a"}}
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": labels,
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod("a")["spec"]},
        },
    }
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments"]}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "frozen"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]},
    }
    spec = {"policyName": "frozen", "validationActions": ["Deny"]}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": spec}
    for made in (workload, policy, binding):
        assert "error" not in owner.ask("api", method="create", object=made)
    workload["spec"]["replicas"] = 2
    assert "frozen" in owner.ask("api", method="update", object=workload)["error"]["message"]
    answer = owner.ask("api", method="update", object=workload, subresource="scale")
    assert answer["ok"]["object"]["spec"]["replicas"] == 2


def test_a_request_says_who_asks(owner: Owner) -> None:
    begin(owner)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "request.userInfo.username == 'ada'"}],
    }
    group = "admissionregistration.k8s.io/v1"
    policy = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a"}, "spec": spec}
    bound = {"policyName": "a", "validationActions": ["Deny"]}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}
    version = apply(owner, policy, binding)["version"]
    refused = owner.ask("api", method="create", object=pod("a"), since=version)
    assert "failed expression" in str(wire.error_from_data(refused["error"]))
    ada = {"name": "ada", "groups": ["developers"], "uid": ""}
    assert "ok" in owner.ask("api", method="create", object=pod("a"), since=version, requester=ada)
    for wrong in ("ada", {"name": 7}, {"name": "a" * 5000}):
        with pytest.raises(KitError, match="invalid request to the control plane"):
            wire.request({"id": 1, "do": "api", "requester": wrong})


@pytest.mark.parametrize("method", _API)
def test_the_api_server_takes_from_outside_what_it_takes_inside(method: str) -> None:
    def parameters(where: type) -> list[tuple[str, Any]]:
        return [(one.name, one.default) for one in inspect.signature(getattr(where, method)).parameters.values()][2:]

    assert parameters(RemoteAPIServer) == parameters(APIServer)


def test_a_copy_that_was_away_too_long_begins_anew() -> None:
    copy = Replica()
    cluster = Cluster.simulated(0)
    cluster.apply([pod("a"), pod("b")])
    watch = copy.watch("Pod")
    everything = [one for kind in cluster.snapshot().values() for one in kind]
    copy.restart(everything, cluster.api.store.version)
    assert [p.name for p in copy.list("Pod")] == ["a", "b"]
    with pytest.raises(ResourceExpired, match="too old resource version"):
        watch.poll()
    with pytest.raises(KitError, match="copy"):
        copy.create(copy.get("Pod", "a", "default"))


def test_a_refused_manifest_changes_nothing_and_names_its_place(owner: Owner) -> None:
    begin(owner)
    answer = apply(owner, pod("a"), pod("b", "-1"))
    error = wire.error_from_data(answer["error"])
    assert isinstance(error, Invalid)
    assert str(error).startswith('a.yaml, document 2: Pod "b" is invalid: spec.containers[0].resources.requests[cpu]')
    assert error.errors[0].field == "spec.containers[0].resources.requests[cpu]"
    assert [data["metadata"]["name"] for _, data in answer["changes"] if data["kind"] == "Pod"] == []


def test_a_decision_is_the_same_on_the_other_side(owner: Owner) -> None:
    begin(owner)
    apply(owner, pod("a", "64"))
    there = wire.unpack(owner.ask("decision", name="a", namespace="default")["ok"])
    assert there.message == "no nodes available to schedule pods"
    cluster = Cluster.simulated(3, kubelets=False)
    cluster.apply([pod("a"), pod("b", "64")])
    for name in "ab":
        here = cluster.decision(name)
        again = wire.unpack(wire.pack(here))
        assert (again.explain(), again.to_json(), again.message) == (here.explain(), here.to_json(), here.message)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"do": "fly"}, "unsupported request 'fly' to the control plane"),
        ({"do": "changes"}, ""),
        ({"do": "call", "method": "close", "arguments": [], "named": {}}, "unsupported method"),
        ({"do": "api", "method": "bind", "object": {}}, "unsupported method"),
        ({"do": "begin", "version": 0, "settings": ""}, "kitlib image build"),
    ],
)
def test_requests_that_are_none_are_refused_in_words(owner: Owner, request_: dict[str, Any], words: str) -> None:
    answer = owner.ask(**request_)
    if words:
        assert words in str(wire.error_from_data(answer["error"]))
    else:
        assert answer["ok"] is None
    assert "changes" not in answer  # nothing was begun


ERRORS = [
    NotFound("pods", "x"),
    AlreadyExists("pods", "x"),
    Conflict("pods", "x"),
    Forbidden("pods", "x", "why"),
    ManifestError("bad", file="f", document=2, field="spec"),
    KitError("plain"),
    TypeError("of Python's own"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_errors_arrive_as_they_were(error: Exception) -> None:
    back = wire.error_from_data(wire.error_to_data(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))


def test_an_error_of_somebody_elses_is_told_as_the_kits() -> None:
    class Odd(Exception):
        pass

    back = wire.error_from_data(wire.error_to_data(Odd("what?")))
    assert (type(back), str(back)) == (KitError, "the control plane could not do it: Odd: what?")


CRAFTED = {
    "a pickle": b64encode(pickle.dumps(KitError)).decode(),
    "a pickle as it is": "\x80\x04\x95",
    "a function": '["data", "os:system", {}]',
    "a type of Python's": '["data", "builtins:object", {}]',
    "a class that acts": '["data", "kitlib.node.real.container:NodeContainer", {}]',
    "a command": '["data", "kitlib.commands.demo:run", {}]',
    "a function of the kit": '["data", "kitlib.api.serialize:load", {}]',
    "an imported name": '["data", "kitlib.api.serialize:json", {}]',
    "a class by way of another": '["data", "kitlib.api.core:Pod.__class__", {}]',
    "an error": '["data", "kitlib.api.errors:KitError", {}]',
    "a type as a value": '["enum", "kitlib.scheduler.decision:Decision", "__class__"]',
    "a method put over another": '["data", "kitlib.api.selectors:LabelSelectorMatcher", {"__class__": 1}]',
    "a field that is not declared": '["data", "kitlib.kubelet.images.image_gc:Image", {"name": "a", "evil": 1}]',
    "a field of another type": '["data", "kitlib.kubelet.images.image_gc:Image", {"name": 5, "size": "x"}]',
    "a package of another": '["data", "kitlib_evil.api:X", {}]',
    "a relative module": '["data", "kitlib.api..core:Pod", {}]',
    "a reference to nothing": '["ref", 0]',
    "a reference to a text": '["ref", "x"]',
    "an unhashable member": '["set", ["list"]]',
    "a mapping with an odd end": '["dict", "a"]',
    "an array of objects": '["array", "|O8", [1], "AAAAAAAAAAA="]',
    "an array without its bytes": '["array", "<i8", [1000000], ""]',
    "an array of a negative size": '["array", "<i8", [-1], ""]',
    "a quantity of 5,000 digits": f'["quantity", "{"9" * 5000}x"]',
    "an integer of 5,000 digits": f'["int", "{"9" * 5000}"]',
    "no value": '["nothing"]',
    "a tag that is a list": '[["list"]]',
    "an empty list": "[]",
    "an object": "{}",
    "brackets": "[" * 100_000,
    "levels": '["list", ' * 200 + "1" + "]" * 200,
}


@pytest.mark.parametrize("name", CRAFTED)
def test_nothing_but_values_of_the_kits_types_is_read(name: str) -> None:
    with pytest.raises(KitError, match="cannot be read"):
        wire.unpack(CRAFTED[name])


@pytest.mark.parametrize("what", [KitError, os.path.join, eval, threading.Lock(), object(), b"bytes", lambda: 1])
def test_nothing_but_values_can_be_sent(what: Any) -> None:
    with pytest.raises(KitError):
        wire.pack(what)


def test_values_that_a_message_holds_twice_are_one() -> None:
    shared = ["a"]
    found = wire.unpack(wire.pack({"x": shared, "y": shared, "z": (2**70, float("inf"), -1.5)}))
    assert found["x"] is found["y"] and found == {"x": ["a"], "y": ["a"], "z": (2**70, float("inf"), -1.5)}


def test_no_module_is_loaded_because_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "kitlib.commands.bench", raising=False)  # other tests load it
    back = wire.error_from_data({"module": "kitlib.commands.bench", "kind": "X", "message": "m", "args": ""})
    assert type(back) is KitError and "kitlib.commands.bench" not in sys.modules


def test_plans_of_nodes_travel_whole() -> None:
    plans = plan([{"topology": {"sockets": 2, "numa": 2, "cores": 4}, "memory": "8Gi", "taints": ["a=b:NoSchedule"]}])
    assert wire.unpack(wire.pack(plans)) == plans


def test_what_only_the_users_process_can_do_is_known() -> None:
    assert why_in_process(ClusterOptions()) == ""
    assert (
        why_in_process(
            ClusterOptions(scheduler={"profiles": []}, autoscaler={"zones": ["a"]}, gate_manager={"hard": {"cpu": "4"}})
        )
        == ""
    )
    assert "plugins" in why_in_process(ClusterOptions(plugins=(object(),)))
    assert "extenders" in why_in_process(ClusterOptions(scheduler={"extenders": [{}]}))
    assert "autoscaler" in why_in_process(ClusterOptions(autoscaler=Autoscaler(zones=["a"])))
    assert "cannot be sent" in why_in_process(ClusterOptions(scheduler={"call": lambda: 1}))


def test_controllers_look_while_somebody_asks_all_the_time(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    begin(owner)
    monkeypatch.setattr(agent, "LOOK", LOOK / 5)
    monkeypatch.setattr(ControlPlane, "_look", lambda self: looks.append(time.monotonic()))
    deadline = time.monotonic() + 60  # only if they never look
    while len(looks) < 3 and time.monotonic() < deadline:
        owner.ask("changes")
    assert len(looks) >= 3


def test_the_scheduler_is_loaded_once_the_owner_has_its_nodes(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(ControlledCluster, "load", lambda self: loaded.append("now"))
    begin(owner)
    owner.ask("changes")
    assert loaded == []
    owner.ask("add_nodes", plans=wire.pack([]), facts={})
    owner.ask("changes")
    assert loaded == ["now"]


def test_a_clusters_clock_is_its_owners(owner: Owner) -> None:
    wanted = {"release": Release.latest(), "seed": 1, "scheduler": None}
    owner.ask("begin", version=wire.VERSION, settings=wire.pack(wanted), at=1000.0)
    answer = apply(owner, pod("a"))
    assert 1000.0 <= answer["journal"][0]["at"] < 1100.0
    answer = owner.ask("call", method="delete", arguments=["Pod", "a", "default"], named={"grace": 0}, at=2000.0)
    assert 2000.0 <= answer["journal"][-1]["at"] < 2100.0  # however late an earlier request came: it follows
    answer = owner.ask("call", method="cordon", arguments=["none"], named={}, at=1.0, journal=0)
    assert [2000.0 <= entry["at"] < 2100.0 for entry in answer["journal"]][1:] == [True]  # and never goes back
