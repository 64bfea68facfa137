"""The rights that an administrator grants for learners' real nodes: one namespace per learner, and nothing else.

A node owns a cgroup tree, so its pod needs the privileged level of Pod Security, with which a learner could take over
the machine. So admission policies admit only the kit's own pods (`node_pod_policy`), on machines reserved for them.
The right to attach applies to all pods of a namespace, so each learner has a namespace. CAP_SYS_ADMIN on a shared
kernel is still close to root: the reserved machines must hold nothing else of value.

Source: Pod Security Admission labels; admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy (1.30); ResourceQuota;
NetworkPolicy (attach goes through the kubelet, not through the pod's network).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.api.errors import KitError, shortened
from kitlib.api.names import is_dns1123_label
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.config.machine import default_max_pid
from kitlib.node.kubernetes.manifest import REQUESTS
from kitlib.node.kubernetes.pods import RIGHTS
from kitlib.node.real.container import OVERHEAD, PIDS_OVERHEAD
from kitlib.workshop import node_pod_policy
from kitlib.workshop.cel_shape import CelRule

ROLE = "kitlib-nodes"
ACCOUNT = "kitlib-learner"
"""The service account of a learner, followed by the number of the hub's user."""
LABEL = "kitlib.dev/node-pods"
"""The label of namespaces to which the policies apply."""
RBAC = "rbac.authorization.k8s.io"
LEAST = {"cpu": "1m", "memory": "1Mi"}
"""The smallest limits and requests of a node's pod: 0 is no limit to the kubelet."""
ENDED = 4
"""The number of pods in a namespace, ended ones included, as a multiple of those that run."""
MAX_LEARNERS, MAX_NODES, MAX_CPUS, MAX_MEMORY = 100_000, 100, 1024, 64 << 40
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}")
_KINDS = {"user": "User", "group": "Group"}


@dataclass(frozen=True, kw_only=True)
class NodesNamespace:
    """The namespaces for node pods: one for each subject.

    Attributes:
        name: the name of the namespace; with several subjects, of each with its number: `NAME-1`, `NAME-2`, ….
        image: the image of node pods.
        nodes: the number of nodes that a subject may have at once.
        cpus: the largest number of CPUs of a node.
        memory: the largest memory of a node, a quantity.
        deadline: the longest life of a node, in seconds.
        subjects: `user:NAME`, `group:NAME` or `serviceaccount:NAMESPACE:NAME`; each gets the rights in its own
            namespace. The members of a group share one: each can attach to and delete the nodes of all.
        seats: whether the subjects are the seats of a hub (`seat_subjects`): their service accounts are made too, and
            the namespaces have numbers even if there is only one.

    Raises:
        KitError: an argument is invalid; the message names it.
    """

    name: str = "kitlib-nodes"
    image: str = "kitlib-node"
    nodes: int = 3
    cpus: int = 4
    memory: str = "8Gi"
    deadline: int = 8 * 3600
    subjects: tuple[str, ...] = ("serviceaccount:kitlib-hub:kitlib-learner",)
    seats: bool = False

    @staticmethod
    def seat_subjects(learners: int, hub: str) -> tuple[str, ...]:
        """Return the subjects of a hub's learners: one service account for each, by the number of the hub's user."""
        if not 1 <= learners <= MAX_LEARNERS:
            raise KitError(f"learners: must be at least 1 and at most {MAX_LEARNERS}, got {learners}")
        return tuple(f"serviceaccount:{hub}:{ACCOUNT}-{number}" for number in range(1, learners + 1))

    def __post_init__(self) -> None:
        for name, most in (("nodes", MAX_NODES), ("cpus", MAX_CPUS)):
            given = getattr(self, name)
            if not isinstance(given, int) or not 1 <= given <= most:
                raise KitError(f"{name}: must be at least 1 and at most {most}, got {shortened(str(given), 80)}")
        check_namespace(self.name)
        check_image(self.image)
        try:
            memory = Quantity(self.memory).value()
        except QuantityError as error:
            raise KitError(f"memory: {error}") from error
        if not 0 < memory <= MAX_MEMORY:
            raise KitError(f"memory: must be more than 0 and at most 64Ti, got {shortened(self.memory, 80)}")
        if not self.subjects:
            raise KitError("subjects: must have at least one user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME")
        for subject in self.subjects:
            _subject(subject)
        check_namespace(self.namespaces()[-1][0])  # the longest

    def namespaces(self) -> list[tuple[str, str]]:
        """Return the name of each namespace and its subject."""
        if len(self.subjects) == 1 and not self.seats:
            return [(self.name, self.subjects[0])]
        return [(f"{self.name}-{number}", subject) for number, subject in enumerate(self.subjects, 1)]

    @property
    def pods(self) -> int:
        """The number of pods in a namespace: the nodes, and one more while an old cluster ends and a new one begins."""
        return self.nodes + 1

    @property
    def memory_limit(self) -> int:
        """The memory limit of a node's pod in bytes."""
        return Quantity(self.memory).value() + OVERHEAD

    def manifests(self) -> list[dict[str, Any]]:
        """Return all manifests in the order in which they are applied: the policies precede the rights."""
        made = node_pod_policy.policies(self.name, self._node_pods(), {"matchLabels": {LABEL: self.name}})
        for namespace, subject in self.namespaces():
            made += [
                self._namespace(namespace),
                self._quota(namespace),
                self._limits(namespace),
                _network(namespace),
                *self._account(subject),
                *_rights(namespace, subject),
            ]
        return made

    def to_yaml(self) -> str:
        """Return the manifests as YAML."""
        import yaml

        head = (
            f"# kubectl apply -f -    # node pods of the kit, {self.pods} in each of {len(self.subjects)} namespaces; "
            "see kitlib/docs/workshop.md\n"
        )
        return head + yaml.safe_dump_all(self.manifests(), sort_keys=False, width=120)

    def _namespace(self, name: str) -> dict[str, Any]:
        level = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
        metadata = {"name": name, "labels": {LABEL: self.name, **level}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def _account(self, subject: str) -> list[dict[str, Any]]:
        found = _subject(subject)
        if not self.seats or found["kind"] != "ServiceAccount":
            return []
        metadata = {"name": found["name"], "namespace": found["namespace"]}
        return [
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": metadata,
                "automountServiceAccountToken": False,
            }
        ]

    def _quota(self, namespace: str) -> dict[str, Any]:
        hard = {
            "pods": str(self.pods),
            # `pods` does not count ended pods (QuotaV1Pod), which the kit deletes some minutes after their end
            "count/pods": str(ENDED * self.pods),
            "requests.cpu": str(Quantity(f"{self.pods * Quantity(REQUESTS['cpu']).milli_value()}m")),
            "requests.memory": str(self.pods * Quantity(REQUESTS["memory"]).value()),
            "limits.cpu": str(self.pods * self.cpus),
            "limits.memory": str(self.pods * self.memory_limit),
            **dict.fromkeys(("services", "persistentvolumeclaims", "count/deployments.apps", "count/jobs.batch"), "0"),
        }
        return {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": _metadata(namespace),
            "spec": {"hard": hard},
        }

    def _limits(self, namespace: str) -> dict[str, Any]:
        most = {"cpu": str(self.cpus), "memory": str(self.memory_limit)}
        spec = {"limits": [{"type": "Container", "max": most, "min": LEAST}]}
        return {"apiVersion": "v1", "kind": "LimitRange", "metadata": _metadata(namespace), "spec": spec}

    def rules(self) -> Sequence[CelRule]:
        """Return the validations of a node pod."""
        return node_pod_policy.rules(self._node_pods())

    def _node_pods(self) -> node_pod_policy.NodePodLimits:
        return node_pod_policy.NodePodLimits(
            image=self.image,
            cpus=self.cpus,
            memory=self.memory_limit,
            pids=default_max_pid(self.memory_limit) + PIDS_OVERHEAD,
            deadline=self.deadline,
        )


def _network(namespace: str) -> dict[str, Any]:
    spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(namespace, "nothing-in-nothing-out"),
        "spec": spec,
    }


def _rights(namespace: str, subject: str) -> list[dict[str, Any]]:
    verbs: dict[str, list[str]] = {}
    for verb, resource in RIGHTS:
        verbs.setdefault(resource, []).append(verb)
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": found} for resource, found in verbs.items()]
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": _metadata(namespace), "rules": rules}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(namespace),
        "subjects": [_subject(subject)],
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": ROLE},
    }
    return [role, binding]


def _metadata(namespace: str, name: str = ROLE) -> dict[str, Any]:
    return {"name": name, "namespace": namespace}


def check_namespace(name: str) -> None:
    """Check the name of a namespace.

    Raises:
        KitError: the name is not a DNS label.
    """
    for problem in is_dns1123_label(name):
        raise KitError(f"namespace {shortened(repr(name), 80)}: {problem}")


def check_image(image: str) -> None:
    """Check the reference of an image.

    Raises:
        KitError: the text is not such a reference.
    """
    if not _IMAGE.fullmatch(image):
        raise KitError(f"image {shortened(repr(image), 80)}: REGISTRY/NAME:TAG is expected")


def _subject(text: str) -> dict[str, str]:
    """Return the subject of a RoleBinding from its text form.

    Raises:
        KitError: the text has another form.
    """
    kind, _, rest = text.partition(":")
    namespace, _, name = rest.partition(":")
    if kind == "serviceaccount" and namespace and name:
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    if kind in _KINDS and rest:
        return {"kind": _KINDS[kind], "name": rest, "apiGroup": RBAC}
    raise KitError(
        f"subject {shortened(repr(text), 80)}: must be user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME"
    )
