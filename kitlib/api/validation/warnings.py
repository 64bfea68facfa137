"""What the API server warns of in an object that it accepts.

Source: pkg/api/pod/warnings.go, pkg/api/node/util.go, pkg/api/persistentvolume(claim)/util.go,
pkg/api/service/warnings.go, WarningsOnCreate of the strategies in pkg/registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.batch import CronJob, Job, JobSpec
from kitlib.api.container import Container
from kitlib.api.coordination import RuntimeClass
from kitlib.api.core import (
    Endpoints,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PodTemplate,
    PodTemplateSpec,
    ReplicationController,
    Service,
)
from kitlib.api.defaults import set_defaults
from kitlib.api.meta import KubeObject
from kitlib.api.networking import Ingress
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.api.validation.names import is_dns1123_label, is_valid_label_value

_LABELS = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_VOLUMES = {
    "photon_persistent_disk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "git_repo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scale_io": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephFS", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_SURPRISING = "which can result in surprising behavior; a DNS label is recommended"
_IN_PODS = "this is used in Pod names and hostnames"
_IN_HOSTNAME = "this is used in the Pod's hostname"
_BYTES = ("memory", "ephemeral-storage")
_CLASS_DEPRECATED = 'deprecated since v1.8; use "storageClassName" attribute instead'
_INGRESS_CLASS = 'annotation "kubernetes.io/ingress.class"'
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def warnings_of(obj: KubeObject) -> list[str]:
    """What a client is warned of when it makes this object, as it is before defaults."""
    return list(_texts(set_defaults(deepcopy(obj))))


def warning_header(text: str) -> str:
    """The value of the HTTP header `Warning`. Source: apimachinery util/net NewWarningHeader."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def _texts(obj: KubeObject) -> Iterator[str]:
    if isinstance(obj, Pod):
        yield from _name(obj, _IN_HOSTNAME)
        yield from _pod(obj.spec, "spec")
    elif isinstance(obj, Deployment | ReplicaSet | Job):
        yield from _name(obj, _IN_PODS)
        if isinstance(obj, Job):
            yield from _job(obj.spec, "spec")
        else:
            yield from _template(obj.spec.template, "spec.template")
    elif isinstance(obj, ReplicationController):
        yield from _name(obj, _IN_PODS)
        if obj.spec.template is not None:
            yield from _template(obj.spec.template, "spec.template")
    elif isinstance(obj, StatefulSet):
        yield from _template(obj.spec.template, "spec.template")
        for i, claim in enumerate(obj.spec.volume_claim_templates):
            yield from _claim(claim.metadata.annotations, claim.spec, f"spec.volumeClaimTemplates[{i}].")
        limit = obj.spec.revision_history_limit
        if limit is not None and limit < 0:
            text = "a negative value retains all historical revisions; a value >= 0 is recommended"
            yield f"spec.revisionHistoryLimit: {text}"
    elif isinstance(obj, DaemonSet):
        yield from _template(obj.spec.template, "spec.template")
    elif isinstance(obj, CronJob):
        yield from _name(obj, _IN_PODS)
        yield from _job(obj.spec.job_template.spec, "spec.jobTemplate.spec")
    elif isinstance(obj, PodTemplate):
        yield from _template(obj.template, "template")
    else:
        yield from _others(obj)


def _others(obj: KubeObject) -> Iterator[str]:
    if isinstance(obj, PersistentVolumeClaim):
        yield from _claim(obj.metadata.annotations, obj.spec, "")
    elif isinstance(obj, PersistentVolume):
        yield from _volume(obj)
    elif isinstance(obj, Endpoints):
        yield "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    elif isinstance(obj, Ingress):
        if "kubernetes.io/ingress.class" in obj.metadata.annotations:
            yield f"{_INGRESS_CLASS} is deprecated, please use 'spec.ingressClassName' instead"
    elif isinstance(obj, RuntimeClass):
        if obj.overhead is not None:
            yield from _fractional(obj.overhead.pod_fixed, "overhead.podFixed", ("memory",))
        if obj.scheduling is not None:
            yield from _node_selector(obj.scheduling.node_selector, "scheduling.nodeSelector")
    elif isinstance(obj, Service):
        yield from _service(obj)


def _name(obj: KubeObject, use: str) -> Iterator[str]:
    meta = obj.metadata
    problems = is_dns1123_label(meta.name or f"{meta.generate_name}x")  # the server makes its name before it warns
    if problems:
        yield f"metadata.name: {use}, {_SURPRISING}: [{' '.join(problems)}]"


def _template(template: PodTemplateSpec, field: str) -> Iterator[str]:
    yield from _pod(template.spec, f"{field}.spec")


def _job(spec: JobSpec, field: str) -> Iterator[str]:
    """Source: WarningsForJobSpec."""
    if spec.completion_mode == "Indexed" and (spec.completions or 0) > 100_000 and (spec.parallelism or 0) > 10_000:
        yield (
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    yield from _template(spec.template, f"{field}.template")


def _pod(spec: PodSpec, field: str) -> Iterator[str]:
    """Source: warningsForPodSpecAndMeta."""
    yield from _node_selector(spec.node_selector, f"{field}.nodeSelector")
    affinity = spec.affinity
    if affinity is not None and affinity.node_affinity is not None:
        below, required = f"{field}.affinity.nodeAffinity", affinity.node_affinity.required
        for i, term in enumerate(required.node_selector_terms if required is not None else ()):
            at = f"{below}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{i}]"
            yield from _node_term(term, at)
        for i, preferred in enumerate(affinity.node_affinity.preferred):
            at = f"{below}.preferredDuringSchedulingIgnoredDuringExecution[{i}].preference"
            yield from _node_term(preferred.preference, at)
    for i, constraint in enumerate(spec.topology_spread_constraints):
        at = f"{field}.topologySpreadConstraints[{i}]"
        if constraint.topology_key in _LABELS:
            yield f"{at}.topologyKey: {constraint.topology_key} is {_deprecated(constraint.topology_key)}"
        if constraint.label_selector is None:
            yield _no_pod(at)
    for i, volume in enumerate(spec.volumes):
        for name, (wire, text) in _VOLUMES.items():
            if getattr(volume, name, None) is not None:
                yield f"{field}.volumes[{i}].{wire}: {text}"
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            template = volume.ephemeral.volume_claim_template
            at = f"{field}.volumes[{i}].ephemeral.volumeClaimTemplate."
            yield from _claim(template.metadata.annotations, template.spec, at)
    yield from _repeated((alias.ip for alias in spec.host_aliases), f"{field}.hostAliases", "ip")
    names = [secret.name for secret in spec.image_pull_secrets]
    yield from _repeated(names, f"{field}.imagePullSecrets", "name")
    for i, name in enumerate(names):
        if not name:
            yield f'{field}.imagePullSecrets[{i}].name: invalid empty name ""'
    yield from _fractional(spec.overhead, f"{field}.overhead", ("memory",))
    for container, at in _containers(spec, field):
        yield from _container(container, at)
    yield from _ports(spec, field)
    grace = spec.termination_grace_period_seconds
    if grace is not None and grace < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{field}.terminationGracePeriodSeconds: {text}"
    if affinity is not None:
        for name, terms in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
            if terms is not None:
                at = f"{field}.affinity.{name}"
                required_at = f"{at}.requiredDuringSchedulingIgnoredDuringExecution"
                yield from _pod_terms(((term, "") for term in terms.required), required_at)
                preferred_at = f"{at}.preferredDuringSchedulingIgnoredDuringExecution"
                weighted = ((term.pod_affinity_term, ".podAffinityTerm") for term in terms.preferred)
                yield from _pod_terms(weighted, preferred_at)


def _containers(spec: PodSpec, field: str) -> Iterator[tuple[Container, str]]:
    """Source: VisitContainersWithPath."""
    for name, listed in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for i, container in enumerate(listed):
            yield container, f"{field}.{name}[{i}]"


def _container(container: Container, field: str) -> Iterator[str]:
    yield from _fractional(container.resources.limits, f"{field}.resources.limits", _BYTES)
    yield from _fractional(container.resources.requests, f"{field}.resources.requests", _BYTES)
    seen: set[str] = set()
    for i, variable in enumerate(container.env):
        if variable.name in seen and (variable.value_from is not None or f"$({variable.name})" not in variable.value):
            text = f'hides previous definition of "{variable.name}", which may be dropped when using apply'
            yield f"{field}.env[{i}]: {text}"
        seen.add(variable.name)


def _ports(spec: PodSpec, field: str) -> Iterator[str]:
    """Source: warningsForPodSpecAndMeta, duplicate ports and port names."""
    names: dict[str, str] = {}
    for container, at in _containers(spec, field):
        if ".initContainers[" in at and container.restart_policy != "Always":
            continue
        ports: dict[tuple[int, str], str] = {}
        for i, port in enumerate(container.ports):
            here = f"{at}.ports[{i}]"
            key = port.container_port, port.protocol
            if key in ports:
                yield f"{here}: duplicate port definition with {ports[key]}"
            ports.setdefault(key, here)
            if port.name and port.name in names:
                first = names[port.name]
                text = f'duplicate port name "{port.name}" with {first}'
                yield f"{here}.name: {text}, services and probes that select ports by name will use {first}"
            names.setdefault(port.name, f"{here}.name")


def _service(obj: Service) -> Iterator[str]:
    """Source: GetWarningsForService."""
    if obj.spec.type == "ExternalName" and obj.spec.external_ips:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if obj.spec.cluster_ip == "None" and obj.spec.session_affinity not in ("", "None"):
        yield "spec.SessionAffinity is ignored for headless services"
    if obj.spec.type == "ExternalName" and obj.spec.session_affinity not in ("", "None"):
        yield 'spec.SessionAffinity is ignored when spec.type is "ExternalName"'


def _volume(obj: PersistentVolume) -> Iterator[str]:
    """Source: pkg/api/persistentvolume GetWarningsForPersistentVolume."""
    if _CLASS_ANNOTATION in obj.metadata.annotations:
        yield f"metadata.annotations[{_CLASS_ANNOTATION}]: {_CLASS_DEPRECATED}"
    if obj.spec.persistent_volume_reclaim_policy == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    if obj.spec.node_affinity is not None and obj.spec.node_affinity.required is not None:
        for i, term in enumerate(obj.spec.node_affinity.required.node_selector_terms):
            yield from _node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    yield from _fractional(obj.spec.capacity, "spec.capacity", ("storage",))


def _claim(annotations: Mapping[str, str], spec: PersistentVolumeClaimSpec, field: str) -> Iterator[str]:
    """Source: GetWarningsForPersistentVolumeClaim(Spec)."""
    if _CLASS_ANNOTATION in annotations:
        yield f"{field}metadata.annotations[{_CLASS_ANNOTATION}]: {_CLASS_DEPRECATED}"
    yield from _fractional(spec.resources.requests, f"{field}spec.resources.requests", ("storage",))
    yield from _fractional(spec.resources.limits, f"{field}spec.resources.limits", ("storage",))


def _node_term(term: NodeSelectorTerm, field: str) -> Iterator[str]:
    """Source: GetWarningsForNodeSelectorTerm."""
    for i, expression in enumerate(term.match_expressions):
        at = f"{field}.matchExpressions[{i}]"
        if expression.key in _LABELS:
            yield f"{at}.key: {expression.key} is {_deprecated(expression.key)}"
        for j, value in enumerate(expression.values):
            for problem in is_valid_label_value(value):
                yield f"{at}.values[{j}]: {value} is invalid, {problem}"


def _node_selector(selector: Mapping[str, str], field: str) -> Iterator[str]:
    for key in selector:
        if key in _LABELS:
            yield f"{field}[{key}]: {_deprecated(key)}"


def _deprecated(label: str) -> str:
    since, instead = _LABELS[label]
    return f'deprecated since {since}; use "{instead}" instead'


def _pod_terms(terms: Iterable[tuple[PodAffinityTerm, str]], field: str) -> Iterator[str]:
    for i, (term, below) in enumerate(terms):
        if term.label_selector is None:
            yield _no_pod(f"{field}[{i}]{below}")


def _no_pod(field: str) -> str:
    return f"{field}.labelSelector: a null labelSelector results in matching no pod"


def _repeated(values: Iterable[str], field: str, name: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield f'{field}[{i}].{name}: duplicate {name} "{value}"'
        seen.add(value)


def _fractional(quantities: Mapping[str, Quantity], field: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        quantity = quantities.get(name)
        if quantity is not None and quantity.milli_value() % 1000:
            yield f'{field}[{name}]: fractional byte value "{quantity}" is invalid, must be an integer'
