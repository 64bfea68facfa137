"""Attempts to get more out of a learner's namespace for nodes than the kit's own pods, over HTTP, on any API server.

Each starts from a pod that the kit itself makes and changes one thing that Kubernetes' API reference offers, or asks
for another verb or subresource. `python -m tests.workshop.attacks KUBECONFIG` runs them against a server where the
manifests of `kitlib workshop --kubernetes --learners 1` were applied; tests run them on `kitlib up`. With `wide` the
learner has every right on pods first, so that the policies alone refuse.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.kubernetes.manifest import MACHINES, PodOptions, PodOwner, node_pod

IMAGE, HUB, OWN, OTHER = "registry.example/kitlib-node:1", "kitlib-hub", "kitlib-nodes-1", "kitlib-nodes-2"
LEARNER = f"system:serviceaccount:{HUB}:kitlib-learner-1"
GROUPS = ("system:serviceaccounts", f"system:serviceaccounts:{HUB}", "system:authenticated")
VICTIM = "victim"
PODS, STRATEGIC = f"/api/v1/namespaces/{OWN}/pods", "application/strategic-merge-patch+json"
SHELL = {"exec": {"command": ["/bin/sh", "-c", "id"]}}


def pod(name: str = "attempt") -> dict[str, Any]:
    """Return a pod as the kit makes it."""
    options = PodOptions(image=IMAGE, deadline=3600, machines="required")
    return node_pod(name, "node-1", MachineInfo.declare(2, "1Gi"), options, PodOwner("host/1:2"))


class Server:
    """An API server, asked as the kubeconfig's administrator or as a learner."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._address = cluster["server"]
        self._token = user.get("token", "")
        self._context = ssl.create_default_context()
        if "certificate-authority-data" in cluster:
            self._context.load_verify_locations(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        else:
            self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as file:
                file.write(base64.b64decode(user["client-certificate-data"]))
                file.write(base64.b64decode(user["client-key-data"]))
                file.flush()
                self._context.load_cert_chain(file.name)

    def ask(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", *, learner: bool = True
    ) -> tuple[int, str]:
        """Return status and message of an answer."""
        headers = [("Content-Type", kind), ("Accept", "application/json")]
        headers += [("Authorization", f"Bearer {self._token}")] if self._token else []
        request = urllib.request.Request(
            f"{self._address}{path}", None if body is None else json.dumps(body).encode(), dict(headers), method=method
        )
        if learner:
            request.add_header("Impersonate-User", LEARNER)
            request.add_header("Impersonate-Group", GROUPS[-1])  # urllib sends one of a name
        try:
            with urllib.request.urlopen(request, timeout=20, context=self._context) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            try:
                return error.code, json.loads(text).get("message", text)
            except ValueError:
                return error.code, text


@dataclass(frozen=True)
class Attempt:
    """One request that must be refused."""

    name: str
    method: str
    path: str
    body: Any = None
    kind: str = "application/json"


def _changed(change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> dict[str, Any]:
    made = deepcopy(pod())
    change(made["spec"], made["spec"]["containers"][0])
    return made


def _set(**fields: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    return lambda spec, _: spec.update(fields)


def _in(**fields: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    return lambda _, container: container.update(fields)


def _context(**fields: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    return lambda _, container: container["securityContext"].update(fields)


def _volume(**source: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    def change(spec: dict[str, Any], container: dict[str, Any]) -> None:
        spec.setdefault("volumes", []).append({"name": "more", **source})
        container.setdefault("volumeMounts", []).append({"name": "more", "mountPath": "/more"})

    return change


def _amounts(cpu: str, memory: str) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return _in(resources={"limits": amounts, "requests": amounts})


def _sizes(run: str, tmp: str) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    sizes = {"run": run, "tmp": tmp}
    return _set(
        volumes=[{"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}} for name, size in sizes.items()]
    )


def _terms(spec: dict[str, Any], _: dict[str, Any]) -> None:
    """A further term: terms are alternatives, so one that always fits makes the required one optional."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}]}
    found = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    found["nodeSelectorTerms"] += terms["nodeSelectorTerms"]


_OTHER = {"name": "other", "image": IMAGE, "command": ["/bin/sh"], "args": ["-c", "id"]}
_CREATED: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "an init container": _set(initContainers=[_OTHER]),
    "a sidecar that starts first": _set(initContainers=[{**_OTHER, "restartPolicy": "Always"}]),
    "a second container": lambda spec, _: spec["containers"].append(_OTHER),
    "a shell before the end": _in(lifecycle={"preStop": SHELL}),
    "a request to the cloud's metadata after the start": _in(
        lifecycle={"postStart": {"httpGet": {"host": "169.254.169.254", "port": 80, "path": "/"}}}
    ),
    "a startup probe": _in(startupProbe=SHELL),
    "a readiness probe of another machine": _in(readinessProbe={"tcpSocket": {"host": "10.0.0.1", "port": 22}}),
    "a preloaded library": _in(env=[{"name": "LD_PRELOAD", "value": "/run/evil.so"}]),
    "environment of a secret": _in(envFrom=[{"secretRef": {"name": "s", "optional": True}}]),
    "a folder of the machine": _volume(hostPath={"path": "/", "type": "Directory"}),
    "a token": _volume(projected={"sources": [{"serviceAccountToken": {"path": "token"}}]}),
    "an inline driver": _volume(csi={"driver": "example.com"}),
    "another image as a volume": _volume(image={"reference": "example.com/tools:1"}),
    "a volume of the network": _volume(nfs={"server": "10.0.0.1", "path": "/"}),
    "the control plane by name": _set(nodeName="node-1"),
    "the control plane by label": _set(nodeSelector={"node-role.kubernetes.io/control-plane": ""}),
    "no affinity": lambda spec, _: spec.pop("affinity"),
    "an alternative to the affinity": _terms,
    "a toleration of everything": _set(tolerations=[{"operator": "Exists"}]),
    "the machine's network": _set(hostNetwork=True),
    "the machine's processes": _set(hostPID=True),
    "the machine's IPC": _set(hostIPC=True),
    "one process namespace": _set(shareProcessNamespace=True),
    "an account's token": _set(serviceAccountName="default", automountServiceAccountToken=True),
    "another runtime": _set(runtimeClassName="kata"),
    "another scheduler": _set(schedulerName="mine"),
    "a default PriorityClass": _set(priorityClassName="usual", priority=1000),
    "the highest priority": _set(priorityClassName="system-node-critical"),
    "all devices": _context(privileged=True),
    "kernel modules": _context(capabilities={"drop": ["ALL"], "add": ["SYS_MODULE"]}),
    "all capabilities": _context(capabilities={"drop": ["ALL"], "add": ["ALL"]}),
    "an unmasked /proc": _context(procMount="Unmasked"),
    "an SELinux type": _context(seLinuxOptions={"type": "spc_t"}),
    "another user": _context(runAsUser=65534),
    "a sysctl": _set(securityContext={"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}),
    "a supplementary group": _set(securityContext={"supplementalGroups": [0]}),
    "much memory": _in(
        resources={"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "900Gi"}}
    ),
    "no limits": _in(resources={}),
    **{
        f"limits of {cpu} and {memory}": _amounts(cpu, memory)
        for cpu, memory in (("0", "0"), ("0m", "0Ki"), ("-0", "+0"), ("0.0", "0e9"), ("2", "0"), ("0", "1Gi"))
    },
    "limits of 0 without requests": _in(resources={"limits": {"cpu": "0", "memory": "0"}}),
    "volumes without a bound": _sizes("0", "0"),
    "a large /tmp": _sizes("1Mi", "1Gi"),
    "a device": _in(resources={"limits": {"cpu": "2", "memory": "1Gi", "example.com/gpu": "1"}}),
    "resources of the pod": _set(resources={"limits": {"cpu": "2", "memory": "1Gi"}}),
    "no deadline": lambda spec, _: spec.pop("activeDeadlineSeconds"),
    "a deadline of a year": _set(activeDeadlineSeconds=31_536_000),
    "a restart for ever": _set(restartPolicy="Always"),
    "another tag": _in(image=f"{IMAGE}0"),
    "a digest": _in(image=f"{IMAGE}@sha256:{'0' * 64}"),
    "a pull secret": _set(imagePullSecrets=[{"name": "s"}]),
    "another program": _in(command=["/bin/sh"]),
    "another argument": lambda _, container: container["args"].append("--eval=id"),
    **{
        f"the arguments {' '.join(words)}": _in(args=words)
        for words in (
            *([], ["systemd"], ["--cpus=2"], ["--cpus=2", "--cpus=2", "--cpus=2"]),
            *(["--cpus=2", "--memory=1073741824", f"--pids={pids}"] for pids in ("0", "00", "4000000", "9" * 18)),
            ["--cpus=2", "--memory=0", "--pids=100"],
            ["--cpus=2", "--memory=1073741824", "--pids=100", "--pids=0"],
            ["systemd", "--cpus=2", "--memory=1073741824", "--pids=100", "--pids=0"],
        )
    },
    "tolerations without number": lambda spec, _: spec.update(tolerations=spec["tolerations"] * 4000),
    "capabilities without number": _context(capabilities={"drop": ["ALL"], "add": ["KILL"] * 20_000}),
    "a terminal": _in(tty=True),
    "another working folder": _in(workingDir="/proc/1/root"),
    "a port of the machine": _in(ports=[{"containerPort": 80, "hostPort": 80}]),
    "names of hosts": _set(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["kubernetes.default"]}]),
    "name servers": _set(dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.1"]}),
    "a gate": _set(schedulingGates=[{"name": "example.com/gate"}]),
    "a readiness gate": _set(readinessGates=[{"conditionType": "example.com/ready"}]),
    "a resource claim": _set(resourceClaims=[{"name": "c", "resourceClaimName": "c"}]),
    "a spread": _set(
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    ),
    "a long end": _set(terminationGracePeriodSeconds=86_400),
}


def _with_metadata(**fields: Any) -> dict[str, Any]:
    made = pod()
    made["metadata"] |= fields
    return made


def _patch(name: str, body: Any, subresource: str = "") -> Attempt:
    path = f"{PODS}/{VICTIM}{f'/{subresource}' if subresource else ''}"
    return Attempt(name, "PATCH", path, body, STRATEGIC)


def _connect(name: str, subresource: str, **query: Any) -> Attempt:
    return Attempt(name, "GET", f"{PODS}/{VICTIM}/{subresource}?{urlencode(query, doseq=True)}")


def _in_container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "node", **fields}]}}


_OWNER = {"apiVersion": "v1", "name": "x", "uid": "y", "controller": True}
_TARGET = {"target": {"kind": "Node", "name": "node-1"}}
ATTEMPTS: tuple[Attempt, ...] = (
    *(Attempt(f"create with {name}", "POST", PODS, _changed(change)) for name, change in _CREATED.items()),
    Attempt("create with a finalizer", "POST", PODS, _with_metadata(finalizers=["example.com/stay"])),
    Attempt(
        "create with an AppArmor annotation",
        "POST",
        PODS,
        _with_metadata(annotations={"container.apparmor.security.beta.kubernetes.io/node": "unconfined"}),
    ),
    Attempt(
        "create with a Deployment as owner",
        "POST",
        PODS,
        _with_metadata(ownerReferences=[{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}]),
    ),
    Attempt(
        "create by apply",
        "PATCH",
        f"{PODS}/attempt?fieldManager=me&force=true",
        _changed(_in(tty=True)),
        "application/apply-patch+yaml",
    ),
    Attempt("create in another learner's namespace", "POST", PODS.replace(OWN, OTHER), pod()),
    _patch("update the image", _in_container(image="example.com/evil:1")),
    _patch("update the deadline", {"spec": {"activeDeadlineSeconds": 60}}),
    _patch("update the tolerations", {"spec": {"tolerations": [{"operator": "Exists"}]}}),
    _patch("update a label", {"metadata": {"labels": {"app": "other"}}}),
    _patch("update an annotation", {"metadata": {"annotations": {"a": "b"}}}),
    _patch("add a finalizer", {"metadata": {"finalizers": ["example.com/stay"]}}),
    _patch("add an ephemeral container", {"spec": {"ephemeralContainers": [_OTHER]}}, "ephemeralcontainers"),
    _patch("resize", _in_container(resources={"limits": {"cpu": "64"}}), "resize"),
    _patch("generate a name", {"metadata": {"generateName": "x"}}),
    *(
        _patch(f"become owned by a {kind}", {"metadata": {"ownerReferences": [{**_OWNER, "kind": kind}]}})
        for kind in ("DaemonSet", "Node", "Pod")
    ),
    *(
        _patch(f"change {field} by the status", {"metadata": {field: {"a": "b"}}}, "status")
        for field in ("labels", "annotations")
    ),
    _patch("write an address", {"status": {"podIP": "10.0.0.1"}}, "status"),
    *(
        Attempt(
            f"evict with a grace period of {grace} s",
            "POST",
            f"{PODS}/{VICTIM}/eviction",
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": VICTIM},
                "deleteOptions": {"gracePeriodSeconds": grace},
            },
        )
        for grace in (2, 999_999)
    ),
    _patch("write the status", {"status": {"phase": "Succeeded"}}, "status"),
    Attempt("bind to a machine", "POST", f"{PODS}/{VICTIM}/binding", {"metadata": {"name": VICTIM}, **_TARGET}),
    Attempt("bind by a Binding", "POST", PODS.replace("pods", "bindings"), {"metadata": {"name": VICTIM}, **_TARGET}),
    _connect("exec", "exec", command="id", container="node", stdout="true"),
    _connect("exec without a container", "exec", command=["sh", "-c", "id"], stdin="true", stdout="true"),
    Attempt("exec by POST", "POST", f"{PODS}/{VICTIM}/exec?command=id&stdout=true"),
    _connect("attach to another container", "attach", container="other", stdout="true"),
    _connect("attach with a terminal", "attach", container="node", tty="true", stdin="true"),
    _connect("forward a port", "portforward", ports="22"),
    Attempt("forward a port by POST", "POST", f"{PODS}/{VICTIM}/portforward?ports=22"),
    _connect("proxy", "proxy"),
    Attempt("proxy of a path", "POST", f"{PODS}/{VICTIM}:8080/proxy/x"),
    Attempt("attach to another learner's pod", "GET", f"{PODS.replace(OWN, OTHER)}/{VICTIM}/attach?stdout=true"),
    *(
        Attempt(f"delete with a grace period of {grace} s", "DELETE", f"{PODS}/{VICTIM}?gracePeriodSeconds={grace}")
        for grace in (2, 999_999, 2**63 - 1)
    ),
    Attempt("delete with a grace period in the body", "DELETE", f"{PODS}/{VICTIM}", {"gracePeriodSeconds": 2_592_000}),
    Attempt("delete another learner's pods", "DELETE", PODS.replace(OWN, OTHER)),
    Attempt("read secrets", "GET", PODS.replace("pods", "secrets")),
    Attempt("make a token", "POST", f"/api/v1/namespaces/{OWN}/serviceaccounts/default/token", {"spec": {}}),
    Attempt(
        "open the namespace", "PATCH", f"/api/v1/namespaces/{OWN}", {"metadata": {"labels": {"a": None}}}, STRATEGIC
    ),
    Attempt("delete the policy", "DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"),
    Attempt("proxy of a machine", "GET", "/api/v1/nodes/node-1/proxy/pods"),
)


HARMLESS = {"create with a pull secret", "create with no limits"}
"""The kubelet uses the secret to pull the one image that is allowed; learners can make and read no secret. If the pod
has no limits, the limit range sets the largest ones (and a quota with a controller rejects requests of that size)."""
_PARTS = ("attach", "binding", "ephemeralcontainers", "eviction", "exec", "portforward", "proxy", "resize", "status")
_RESOURCES = ["pods", "bindings", *(f"pods/{part}" for part in _PARTS)]
_RULES = [{"apiGroups": [""], "resources": _RESOURCES, "verbs": ["*"]}]
_SUBJECT = {"kind": "ServiceAccount", "name": "kitlib-learner-1", "namespace": HUB}


def widen(server: Server) -> None:
    """Give the learner every right on pods of the own namespace."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{OWN}"
    server.ask("POST", f"{rbac}/roles", {"metadata": {"name": "wide"}, "rules": _RULES}, learner=False)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "wide"}
    binding = {"metadata": {"name": "wide"}, "roleRef": role, "subjects": [_SUBJECT]}
    status, said = server.ask("POST", f"{rbac}/rolebindings", binding, learner=False)
    assert status == 201, said


def run(server: Server) -> dict[str, tuple[int, str]]:
    """Return the answers to all attempts; a pod of the kit is there, made by the learner."""
    for namespace in (OWN, OTHER):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        server.ask("POST", path, {"metadata": {"name": "default"}}, learner=False)  # where no controller makes it
    node = "/api/v1/nodes/node-1"
    server.ask("PATCH", node, {"metadata": {"labels": {MACHINES: "yes"}}}, STRATEGIC, learner=False)  # if it exists
    status, said = server.ask("POST", PODS, pod(VICTIM))
    assert status in (201, 409), f"the kit's own pod is refused: {status} {said}"
    binding = {"metadata": {"name": VICTIM}, **_TARGET}
    server.ask("POST", f"{PODS}/{VICTIM}/binding", binding, learner=False)  # where no scheduler does it
    answers = {}
    for one in ATTEMPTS:
        server.ask("DELETE", f"{PODS}/attempt?gracePeriodSeconds=0", learner=False)  # of an attempt that succeeded
        answers[one.name] = server.ask(one.method, one.path, one.body, one.kind)
    return answers


def main(kubeconfig: str, wide: str = "") -> None:
    server = Server(Path(kubeconfig))
    if wide:
        widen(server)
    answers = run(server)
    for name, (status, said) in answers.items():
        print(f"{status} {name}: {said[:150]!r}")
    through = [name for name, (status, _) in answers.items() if status < 400]
    print(f"{len(answers)} attempts, {len(through)} through: {', '.join(through)}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
