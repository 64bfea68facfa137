"""What an administrator grants so that learners have real nodes: a namespace for node pods, and nothing beside it.

A node owns a cgroup tree, so Pod Security must let its pod be privileged; that level would let a learner take over the
machine. So an admission policy lets through only the kit's own pods: its image, its command, its capabilities, no host
path. Even so, CAP_SYS_ADMIN on a shared kernel is close to root: give node pods machines of their own.

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
from kitlib.node.kubernetes import manifest
from kitlib.node.kubernetes.manifest import REQUESTS
from kitlib.node.kubernetes.pods import RIGHTS
from kitlib.node.real.container import OVERHEAD

ROLE = "kitlib-nodes"
RBAC = "rbac.authorization.k8s.io"
MAX_LEARNERS, MAX_NODES, MAX_CPUS, MAX_MEMORY = 100_000, 100, 1024, 64 << 40
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}")
_KINDS = {"user": "User", "group": "Group"}


@dataclass(frozen=True, kw_only=True)
class NodesNamespace:
    """A namespace for node pods.

    Attributes:
        name: of the namespace.
        image: that node pods run.
        learners: how many may have nodes at once.
        nodes: of each learner.
        cpus: of a node.
        memory: of a node, a quantity.
        deadline: seconds that a node may live at most.
        subjects: who gets the rights: `user:NAME`, `group:NAME`, `serviceaccount:NAMESPACE:NAME`.

    Raises:
        KitError: naming the argument.
    """

    name: str = "kitlib-nodes"
    image: str = "kitlib-node"
    learners: int = 30
    nodes: int = 3
    cpus: int = 4
    memory: str = "8Gi"
    deadline: int = 8 * 3600
    subjects: tuple[str, ...] = ("serviceaccount:kitlib-hub:kitlib-learner",)

    def __post_init__(self) -> None:
        for name, most in (("learners", MAX_LEARNERS), ("nodes", MAX_NODES), ("cpus", MAX_CPUS)):
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
        for one in self.subjects:
            _subject(one)

    @property
    def pods(self) -> int:
        """Node pods at once; one more for each learner, while an old cluster ends and a new one begins."""
        return self.learners * (self.nodes + 1)

    @property
    def memory_limit(self) -> int:
        """Bytes of one node's pod."""
        return Quantity(self.memory).value() + OVERHEAD

    def manifests(self) -> list[dict[str, Any]]:
        """Everything, in the order in which it is applied."""
        return [
            self._namespace(),
            self._quota(),
            self._limits(),
            self._network(),
            *self._rights(),
            *self._policy(),
        ]

    def to_yaml(self) -> str:
        """The manifests as YAML."""
        import yaml

        head = (
            f"# kubectl apply -f -    # a namespace for {self.pods} node pods of the kit; see kitlib/docs/workshop.md\n"
        )
        return head + yaml.safe_dump_all(self.manifests(), sort_keys=False, width=120)

    def _metadata(self, name: str) -> dict[str, Any]:
        return {"name": name, "namespace": self.name}

    def _namespace(self) -> dict[str, Any]:
        level = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name, "labels": level}}

    def _quota(self) -> dict[str, Any]:
        hard = {
            "pods": str(self.pods),
            "requests.cpu": str(Quantity(f"{self.pods * Quantity(REQUESTS['cpu']).milli_value()}m")),
            "requests.memory": str(self.pods * Quantity(REQUESTS["memory"]).value()),
            "limits.cpu": str(self.pods * self.cpus),
            "limits.memory": str(self.pods * self.memory_limit),
            **dict.fromkeys(("services", "persistentvolumeclaims", "count/deployments.apps", "count/jobs.batch"), "0"),
        }
        return {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": self._metadata(ROLE),
            "spec": {"hard": hard},
        }

    def _limits(self) -> dict[str, Any]:
        most = {"cpu": str(self.cpus), "memory": str(self.memory_limit)}
        spec = {"limits": [{"type": "Container", "max": most}]}
        return {"apiVersion": "v1", "kind": "LimitRange", "metadata": self._metadata(ROLE), "spec": spec}

    def _network(self) -> dict[str, Any]:
        spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self._metadata("nothing-in-nothing-out"),
            "spec": spec,
        }

    def _rights(self) -> list[dict[str, Any]]:
        verbs: dict[str, list[str]] = {}
        for verb, resource in RIGHTS:
            verbs.setdefault(resource, []).append(verb)
        rules = [{"apiGroups": [""], "resources": [resource], "verbs": found} for resource, found in verbs.items()]
        role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": self._metadata(ROLE), "rules": rules}
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": self._metadata(ROLE),
            "subjects": [_subject(one) for one in self.subjects],
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": ROLE},
        }
        return [role, binding]

    def rules(self) -> Sequence[tuple[str, str]]:
        """What a pod of this namespace must be, as CEL, and the sentence that refuses another one."""
        one = "object.spec.containers[0]"
        context = f"{one}.securityContext"
        words = [repr(word) for word in manifest.COMMAND]
        capabilities = [repr(name) for name in manifest.CAPABILITIES]
        return (
            (
                "object.spec.containers.size() == 1 && !has(object.spec.initContainers) && "
                "!has(object.spec.ephemeralContainers)",
                "a node pod has one container",
            ),
            (f"{one}.image == {self.image!r}", f"only the image {self.image} runs here"),
            (
                f"has({one}.command) && {one}.command == [{', '.join(words)}] && has({one}.args) && "
                f"{one}.args.all(a, a.matches('^(systemd|control-plane|--(cpus|memory|pids)=[0-9]+)$'))",
                "only the nodes' own program runs here",
            ),
            (
                "!has(object.spec.volumes) || object.spec.volumes.all(v, has(v.emptyDir))",
                "a node pod has no volumes but those in memory",
            ),
            (
                "!(has(object.spec.hostNetwork) && object.spec.hostNetwork) && "
                "!(has(object.spec.hostPID) && object.spec.hostPID) && "
                "!(has(object.spec.hostIPC) && object.spec.hostIPC)",
                "a node pod has no namespace of its machine's",
            ),
            (
                f"has({context}) && !(has({context}.privileged) && {context}.privileged) && "
                f"!(has({context}.procMount) && {context}.procMount != 'Default')",
                "a node pod is not privileged",
            ),
            (
                f"!has({context}.capabilities) || !has({context}.capabilities.add) || "
                f"{context}.capabilities.add.all(c, c in [{', '.join(capabilities)}])",
                "a node pod has the capabilities of a node at most",
            ),
            (
                "has(object.spec.automountServiceAccountToken) && !object.spec.automountServiceAccountToken",
                "a node pod has no service account token",
            ),
            (
                f"has(object.spec.activeDeadlineSeconds) && object.spec.activeDeadlineSeconds <= {self.deadline}",
                f"a node pod ends after {self.deadline} seconds (activeDeadlineSeconds)",
            ),
            (
                f"has({one}.resources.limits) && 'cpu' in {one}.resources.limits && 'memory' in {one}.resources.limits",
                "a node pod has limits of CPU and memory",
            ),
        )

    def _policy(self) -> list[dict[str, Any]]:
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.name}}
        group = "admissionregistration.k8s.io"
        pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
        policy = {
            "apiVersion": f"{group}/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": self.name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"namespaceSelector": here, "resourceRules": [pods]},
                "validations": [{"expression": text, "message": message} for text, message in self.rules()],
            },
        }
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": self.name},
            "spec": {
                "policyName": self.name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": here},
            },
        }
        return [policy, binding]


def check_namespace(name: str) -> None:
    """Raises: KitError: it is no name of a namespace."""
    for problem in is_dns1123_label(name):
        raise KitError(f"namespace {shortened(repr(name), 80)}: {problem}")


def check_image(image: str) -> None:
    """Raises: KitError: it is no reference of an image."""
    if not _IMAGE.fullmatch(image):
        raise KitError(f"image {shortened(repr(image), 80)}: REGISTRY/NAME:TAG is expected")


def _subject(text: str) -> dict[str, str]:
    """A subject of a binding.

    Raises:
        KitError: the text names none.
    """
    kind, _, rest = text.partition(":")
    namespace, _, name = rest.partition(":")
    if kind == "serviceaccount" and namespace and name:
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    if kind in _KINDS and rest:
        return {"kind": _KINDS[kind], "name": rest, "apiGroup": RBAC}
    raise KitError(
        f"subject {shortened(repr(text), 80)}: user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME is expected"
    )
