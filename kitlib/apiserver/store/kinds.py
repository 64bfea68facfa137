"""The kinds that the store serves, with the names of their resources and their scope.

Source: `kubectl api-resources`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.release import Release

if TYPE_CHECKING:  # loaded with the first definition
    from kitlib.api.apiextensions import CustomResourceDefinition


class Resource(NamedTuple):
    """A kind of objects and its resource.

    Attributes:
        kind: the kind, e.g. `ReplicaSet`.
        group: the API group, e.g. `apps`; "" for the core group.
        plural: the resource's name, e.g. `replicasets`.
        namespaced: whether the objects are in a namespace.
        short: the short name, e.g. `rs`; "" if it has none.
    """

    kind: str
    group: str
    plural: str
    namespaced: bool
    short: str = ""

    @property
    def qualified(self) -> str:
        """The resource's name in messages: `pods`, `replicasets.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        """The kind's name in messages about invalid objects: `Pod`, `ReplicaSet.apps`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def recorded(self) -> str:
        """A unique name: the kind if it is built in, otherwise plural and group, e.g. `jobs.batch.volcano.sh`."""
        return self.kind if built_in_resource(self.group, self.kind) is not None else self.qualified


_ADMISSION = "admissionregistration.k8s.io"
RESOURCES = (
    Resource("Pod", "", "pods", True, "po"),
    Resource("Node", "", "nodes", False, "no"),
    Resource("Namespace", "", "namespaces", False, "ns"),
    Resource("Service", "", "services", True, "svc"),
    Resource("Event", "", "events", True, "ev"),
    Resource("ReplicationController", "", "replicationcontrollers", True, "rc"),
    Resource("ResourceQuota", "", "resourcequotas", True, "quota"),
    Resource("LimitRange", "", "limitranges", True, "limits"),
    Resource("PersistentVolume", "", "persistentvolumes", False, "pv"),
    Resource("PersistentVolumeClaim", "", "persistentvolumeclaims", True, "pvc"),
    Resource("ConfigMap", "", "configmaps", True, "cm"),
    Resource("Secret", "", "secrets", True),
    Resource("ServiceAccount", "", "serviceaccounts", True, "sa"),
    Resource("Deployment", "apps", "deployments", True, "deploy"),
    Resource("ReplicaSet", "apps", "replicasets", True, "rs"),
    Resource("StatefulSet", "apps", "statefulsets", True, "sts"),
    Resource("DaemonSet", "apps", "daemonsets", True, "ds"),
    Resource("ControllerRevision", "apps", "controllerrevisions", True),
    Resource("Job", "batch", "jobs", True),
    Resource("CronJob", "batch", "cronjobs", True, "cj"),
    Resource("HorizontalPodAutoscaler", "autoscaling", "horizontalpodautoscalers", True, "hpa"),
    Resource("Endpoints", "", "endpoints", True, "ep"),
    Resource("EndpointSlice", "discovery.k8s.io", "endpointslices", True),
    Resource("PodDisruptionBudget", "policy", "poddisruptionbudgets", True, "pdb"),
    Resource("PriorityClass", "scheduling.k8s.io", "priorityclasses", False, "pc"),
    Resource("StorageClass", "storage.k8s.io", "storageclasses", False, "sc"),
    Resource("CSINode", "storage.k8s.io", "csinodes", False),
    Resource("CSIDriver", "storage.k8s.io", "csidrivers", False),
    Resource("CSIStorageCapacity", "storage.k8s.io", "csistoragecapacities", True),
    Resource("VolumeAttachment", "storage.k8s.io", "volumeattachments", False),
    Resource("ResourceClaim", "resource.k8s.io", "resourceclaims", True),
    Resource("ResourceClaimTemplate", "resource.k8s.io", "resourceclaimtemplates", True),
    Resource("DeviceClass", "resource.k8s.io", "deviceclasses", False),
    Resource("ResourceSlice", "resource.k8s.io", "resourceslices", False),
    Resource("DeviceTaintRule", "resource.k8s.io", "devicetaintrules", False),
    Resource("PodTemplate", "", "podtemplates", True),
    Resource("Ingress", "networking.k8s.io", "ingresses", True, "ing"),
    Resource("IngressClass", "networking.k8s.io", "ingressclasses", False),
    Resource("NetworkPolicy", "networking.k8s.io", "networkpolicies", True, "netpol"),
    Resource("IPAddress", "networking.k8s.io", "ipaddresses", False, "ip"),
    Resource("ServiceCIDR", "networking.k8s.io", "servicecidrs", False),
    Resource("Role", "rbac.authorization.k8s.io", "roles", True),
    Resource("ClusterRole", "rbac.authorization.k8s.io", "clusterroles", False),
    Resource("RoleBinding", "rbac.authorization.k8s.io", "rolebindings", True),
    Resource("ClusterRoleBinding", "rbac.authorization.k8s.io", "clusterrolebindings", False),
    Resource("VolumeAttributesClass", "storage.k8s.io", "volumeattributesclasses", False, "vac"),
    Resource("Lease", "coordination.k8s.io", "leases", True),
    Resource("RuntimeClass", "node.k8s.io", "runtimeclasses", False),
    Resource("CustomResourceDefinition", "apiextensions.k8s.io", "customresourcedefinitions", False, "crd"),
    Resource("APIService", "apiregistration.k8s.io", "apiservices", False),
    Resource("CertificateSigningRequest", "certificates.k8s.io", "certificatesigningrequests", False, "csr"),
    Resource("MutatingAdmissionPolicy", _ADMISSION, "mutatingadmissionpolicies", False),
    Resource("MutatingAdmissionPolicyBinding", _ADMISSION, "mutatingadmissionpolicybindings", False),
    Resource("MutatingWebhookConfiguration", _ADMISSION, "mutatingwebhookconfigurations", False),
    Resource("ValidatingAdmissionPolicy", _ADMISSION, "validatingadmissionpolicies", False),
    Resource("ValidatingAdmissionPolicyBinding", _ADMISSION, "validatingadmissionpolicybindings", False),
    Resource("ValidatingWebhookConfiguration", _ADMISSION, "validatingwebhookconfigurations", False),
    Resource("FlowSchema", "flowcontrol.apiserver.k8s.io", "flowschemas", False),
    Resource("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", False),
)
VERSIONS = {"autoscaling": ("v2", "v1")}
"""Group -> its served versions, for groups that serve others than v1."""
GATED = {"DeviceTaintRule": ("DRADeviceTaintRules", "deviceTaintRuleVersions")}
"""Kind behind a feature gate -> the gate, and the release's key of the versions that are served."""


class UnknownKind(KitError, LookupError):
    """A name that is no kind, plural or short name."""


@lru_cache(maxsize=1)
def _names() -> dict[str, Resource]:
    found: dict[str, Resource] = {}
    for resource in RESOURCES:
        for name in (resource.kind.lower(), resource.plural, resource.qualified, resource.short):
            if name:
                found[name] = resource
    return found


@lru_cache(maxsize=1)
def _built_in() -> dict[tuple[str, str], Resource]:
    found = {(resource.group, resource.kind): resource for resource in RESOURCES}
    found["events.k8s.io", "Event"] = found["", "Event"]  # two groups, one storage. Source: registry/events/rest
    return found


def resource(kind: str | type[KubeObject] | Resource) -> Resource:
    """Return the built-in resource by kind, type, plural, or short name: `Pod`, `pods`, `po`, `deployments.apps`.

    Raises:
        UnknownKind: for a name that the table does not hold.
    """
    if isinstance(kind, Resource):
        return kind
    name = kind if isinstance(kind, str) else kind.__name__
    found = _names().get(name.lower())
    if found is None:
        raise UnknownKind(f"the server doesn't have a resource type {name!r}")
    return found


def built_in_resource(group: str, kind: str) -> Resource | None:
    """Return the built-in resource of a group and kind; None if there is none."""
    return _built_in().get((group, kind))


def is_served(api_version: str, kind: str, release: Release | None = None) -> bool:
    """Return whether the API server serves a kind in a version without a CustomResourceDefinition.

    Args:
        api_version: the group and version, e.g. `apps/v1`.
        kind: the kind.
        release: the release with its feature gates; None = gated kinds are not served.
    """
    group, _, version = api_version.rpartition("/")
    if kind in GATED and group == "resource.k8s.io":
        return release is not None and version in gated_versions(kind, release)
    if (group, kind) == ("events.k8s.io", "Event"):
        return version == "v1"
    if version == "v1beta2" and group == "resource.k8s.io":  # clusters of older releases store their claims in it
        version = "v1"
    return built_in_resource(group, kind) is not None and version in VERSIONS.get(group, ("v1",))


def gated_versions(kind: str, release: Release) -> tuple[str, ...]:
    """Return the versions in which a release serves a kind of `GATED`; () while its gate is off."""
    gate, row = GATED[kind]
    versions = release.default(row) if release.enabled(gate) else ()
    return versions if isinstance(versions, tuple) else ()


def resource_of(obj: KubeObject) -> Resource:
    """Return the resource of an object of a built-in kind; that of a custom kind is named by rule.

    Only the store knows the names in a CustomResourceDefinition: see `Kinds.of`.
    """
    group = obj.api_version.rpartition("/")[0]
    found = built_in_resource(group, obj.kind)
    return found or resource_by_rule(obj.kind, group, bool(obj.metadata.namespace))


def watched_kind(obj: KubeObject) -> str:
    """Return the name under which controllers watch an object: its kind if built in, otherwise kind and group.

    A `Job` of another group is not a `Job` for the controllers of the built-in kinds, which rely on its fields.
    """
    if type(obj) is not KubeObject:
        return obj.kind
    group = obj.api_version.rpartition("/")[0]
    return obj.kind if built_in_resource(group, obj.kind) is not None else f"{obj.kind}.{group}"


def resource_by_rule(kind: str, group: str, namespaced: bool) -> Resource:
    """Return a resource of a custom kind whose plural follows the rules of English."""
    return Resource(kind, group, _plural(kind.lower()), namespaced)


def _plural(word: str) -> str:
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch")) else "s")


class Kinds:
    """The kinds of one cluster: the built-in ones and those of its CustomResourceDefinitions.

    Custom kinds are identified by group and kind, as in upstream's RESTMapper, never by kind or plural alone. If two
    definitions of a group claim one kind, the first one that was created gets it, as the naming controller decides.

    Args:
        definitions: returns the stored CustomResourceDefinitions, in the order of their creation.

    Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go; apimachinery meta.RESTMapper.
    """

    def __init__(self, definitions: Callable[[], Iterable[CustomResourceDefinition]]) -> None:
        self._definitions = definitions
        self._by_kind: dict[tuple[str, str], Resource] | None = None
        self._by_name: dict[str, Resource] = {}

    def invalidate(self) -> None:
        """Mark the definitions as changed, so that the next lookup of a kind reads them again."""
        self._by_kind = None

    def _custom(self) -> dict[tuple[str, str], Resource]:
        if self._by_kind is not None:
            return self._by_kind
        kinds: dict[tuple[str, str], Resource] = {}
        by_name: dict[str, Resource] = {}
        for definition in self._definitions():
            names, group = definition.spec.names, definition.spec.group
            short = names.short_names[0] if names.short_names else ""
            made = Resource(names.kind, group, names.plural, definition.spec.scope == "Namespaced", short)
            if kinds.setdefault((group, names.kind), made) is made:
                for name in (made.qualified, names.plural, names.singular, names.kind.lower(), *names.short_names):
                    by_name.setdefault(name, made)
        self._by_kind, self._by_name = kinds, by_name
        return kinds

    def named(self, kind: str | type[KubeObject] | Resource) -> Resource:
        """Return the resource of a kind, type, plural, singular or short name, or a plural with its group.

        A name that a built-in kind and a custom one share means the built-in one, as kubectl resolves it.

        Raises:
            UnknownKind: no kind has that name.
        """
        try:
            return resource(kind)
        except UnknownKind:
            self._custom()
            found = self._by_name.get(kind.lower()) if isinstance(kind, str) and kind else None
            if found is None:
                raise
            return found

    def find(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of a version and kind; None if it is not served. Source: RESTMapping."""
        group = api_version.rpartition("/")[0]
        return built_in_resource(group, kind) or self._custom().get((group, kind))

    def of(self, obj: KubeObject) -> Resource:
        """Return the resource of an object; that of an undefined kind is named by rule."""
        return self.find(obj.api_version, obj.kind) or resource_of(obj)

    def all(self) -> Sequence[Resource]:
        """Return every resource, the built-in ones first."""
        return (*RESOURCES, *self._custom().values())
