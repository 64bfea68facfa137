"""The resources that the API serves: names, verbs and table columns, those of CustomResourceDefinitions included.

Source: discovery documents and Tables of kube-apiserver 1.36 (`resources.json` holds the data).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources as package_data
from typing import Any, NamedTuple

from kitlib.api.release import Release
from kitlib.api.scale import ScalePaths
from kitlib.apiserver.store.kinds import gated_versions

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class TableColumnDefinition(NamedTuple):
    """A column of a Table; priority 1 is shown with `-o wide` only. `path` is a CustomResourceDefinition's JSONPath."""

    name: str
    type: str
    format: str = ""
    priority: int = 0
    path: str = ""


class Subresource(NamedTuple):
    """A subresource of a resource, with the kind of its body."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class APIResource(NamedTuple):
    """A resource in one group and version."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    verbs: tuple[str, ...]
    columns: tuple[TableColumnDefinition, ...]
    subresources: tuple[Subresource, ...] = ()
    schema: Mapping[str, Any] | None = None
    scale: ScalePaths | None = None
    selectable: tuple[str, ...] = ()
    printer: str = ""
    """The printer of its rows; "" = that of its kind."""

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource's name in messages: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def storage(self) -> str:
        """The resource whose objects are stored: Events of both groups are stored once."""
        return self.plural if self.group == "events.k8s.io" else self.qualified

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)


_STATUS = ("get", "patch", "update")
_SCALE = Subresource("scale", "Scale", _STATUS, "autoscaling", "v1")
_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")
_SUBRESOURCES: dict[tuple[str, str], tuple[Subresource, ...]] = {
    ("", "pods"): (
        Subresource("attach", "PodAttachOptions", _CONNECT),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", _STATUS),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("exec", "PodExecOptions", _CONNECT),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", _CONNECT),
        Subresource("proxy", "PodProxyOptions", _PROXY),
        Subresource("resize", "Pod", _STATUS),
        Subresource("status", "Pod", _STATUS),
    ),
    ("", "nodes"): (Subresource("proxy", "NodeProxyOptions", ("get",)), Subresource("status", "Node", _STATUS)),
    ("", "services"): (
        Subresource("proxy", "ServiceProxyOptions", _PROXY),
        Subresource("status", "Service", _STATUS),
    ),
    ("", "namespaces"): (
        Subresource("finalize", "Namespace", ("update",)),
        Subresource("status", "Namespace", _STATUS),
    ),
    ("", "serviceaccounts"): (Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),),
    ("", "replicationcontrollers"): (_SCALE, Subresource("status", "ReplicationController", _STATUS)),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        Subresource("approval", "CertificateSigningRequest", _STATUS),
        Subresource("status", "CertificateSigningRequest", _STATUS),
    ),
    ("apps", "deployments"): (_SCALE, Subresource("status", "Deployment", _STATUS)),
    ("apps", "replicasets"): (_SCALE, Subresource("status", "ReplicaSet", _STATUS)),
    ("apps", "statefulsets"): (_SCALE, Subresource("status", "StatefulSet", _STATUS)),
}
_WITH_STATUS = frozenset(
    {
        "apiservices",
        "flowschemas",
        "prioritylevelconfigurations",
        "servicecidrs",
        "validatingadmissionpolicies",
        "volumeattachments",
        "cronjobs",
        "customresourcedefinitions",
        "daemonsets",
        "horizontalpodautoscalers",
        "ingresses",
        "jobs",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "poddisruptionbudgets",
        "resourceclaims",
        "resourcequotas",
    }
)


@cache
def built_in() -> tuple[APIResource, ...]:
    """Return the resources of kube-apiserver 1.36 that have objects, in the order of its discovery document."""
    text = package_data.files("kitlib.apiserver.http").joinpath("resources.json").read_text()
    found = []
    for row in json.loads(text):
        key = (row["group"], row["plural"])
        below = _SUBRESOURCES.get(key, ())
        if not below and row["plural"] in _WITH_STATUS:
            below = (Subresource("status", row["kind"], _STATUS),)
        found.append(
            APIResource(
                row["group"],
                row["version"],
                row["plural"],
                row["singular"],
                row["kind"],
                tuple(row["shortNames"]),
                tuple(row["categories"]),
                row["namespaced"],
                tuple(row["verbs"]),
                tuple(TableColumnDefinition(*column) for column in row["columns"]),
                below,
            )
        )
        if row["group"] == "autoscaling":
            found.append(found[-1]._replace(version="v1"))
    return (*found, _BINDINGS, *_METRICS)


_BINDINGS = APIResource("", "v1", "bindings", "binding", "Binding", (), (), True, ("create",), ())
_METRICS = (
    APIResource("metrics.k8s.io", "v1beta1", "nodes", "", "NodeMetrics", (), (), False, ("get", "list"), ()),
    APIResource("metrics.k8s.io", "v1beta1", "pods", "", "PodMetrics", (), (), True, ("get", "list"), ()),
)


_DEFINITION_COLUMNS = (
    TableColumnDefinition("Name", "string", "name"),
    TableColumnDefinition("Scope", "string"),
    TableColumnDefinition("Versions", "string"),
    TableColumnDefinition("Created At", "date"),
    TableColumnDefinition("Group", "string", "", 1),
    TableColumnDefinition("Kind", "string", "", 1),
    TableColumnDefinition("ShortNames", "string", "", 1),
    TableColumnDefinition("Established", "boolean", "", 1),
)
"""Source: apiextensions-apiserver registry/customresourcedefinition/tableconvertor of 1.37."""


def _of_release(release: Release | None) -> Iterator[APIResource]:
    """Yield the built-in resources with the columns of a release."""
    more = release is not None and release.enabled("KitDefinitionsShowVersions")
    for one in built_in():
        if more and one.kind == "CustomResourceDefinition":
            yield one._replace(columns=_DEFINITION_COLUMNS, printer="CustomResourceDefinition with versions")
        else:
            yield one


def _gated(release: Release | None) -> Iterator[APIResource]:
    """Yield the resources that a release serves because of a feature gate."""
    for version in gated_versions("DeviceTaintRule", release) if release is not None else ():
        yield APIResource(
            "resource.k8s.io",
            version,
            "devicetaintrules",
            "devicetaintrule",
            "DeviceTaintRule",
            (),
            (),
            False,
            ALL_VERBS,
            (TableColumnDefinition("Name", "string", "name"), TableColumnDefinition("Age", "string")),
            (Subresource("status", "DeviceTaintRule", _STATUS),),
        )


def custom(definition: Mapping[str, Any]) -> Iterator[APIResource]:
    """Yield the resources of a CustomResourceDefinition, one for each served version.

    Source: apiextensions-apiserver customresource_handler.go (getOrCreateServingInfoFor), tableconvertor.New.
    """
    spec = definition.get("spec", {})
    names = spec.get("names", {})
    for version in spec.get("versions", []):
        if not version.get("served"):
            continue
        columns = [TableColumnDefinition("Name", "string", "name")]
        printed = version.get("additionalPrinterColumns")
        if printed is None:
            columns.append(TableColumnDefinition("Age", "date", "", 0, ".metadata.creationTimestamp"))
        for one in printed or ():
            columns.append(
                TableColumnDefinition(
                    one["name"], one["type"], one.get("format", ""), one.get("priority", 0), one["jsonPath"]
                )
            )
        below = []
        subresources = version.get("subresources") or {}
        if "status" in subresources:
            below.append(Subresource("status", names.get("kind", ""), _STATUS))
        if "scale" in subresources:
            below.append(_SCALE)
        yield APIResource(
            spec.get("group", ""),
            version["name"],
            names.get("plural", ""),
            names.get("singular", ""),
            names.get("kind", ""),
            tuple(names.get("shortNames", ())),
            tuple(names.get("categories", ())),
            spec.get("scope") == "Namespaced",
            ALL_VERBS,
            tuple(columns),
            tuple(below),
            (version.get("schema") or {}).get("openAPIV3Schema") or {},
            ScalePaths.of(subresources["scale"] or {}) if "scale" in subresources else None,
            tuple(str(one.get("jsonPath")).removeprefix(".") for one in version.get("selectableFields") or ()),
        )


class ResourceTable:
    """The served resources: the built-in ones and those of the stored CustomResourceDefinitions.

    Args:
        definitions: CustomResourceDefinitions in the wire form.
        release: the release that decides on gated resources and on columns; None = 1.36 without gates.
    """

    def __init__(self, definitions: Iterable[Mapping[str, Any]] = (), release: Release | None = None) -> None:
        self.resources = [*_of_release(release), *_gated(release), *(r for d in definitions for r in custom(d))]
        self._by_path = {(r.group, r.version, r.plural): r for r in self.resources}
        self._documents: dict[Hashable, dict[str, Any]] = {}

    def find(self, group: str, version: str, plural: str) -> APIResource | None:
        return self._by_path.get((group, version, plural))

    def document(self, key: Hashable, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the cached OpenAPI document of a key; a change of the definitions makes a new table."""
        if key not in self._documents:
            self._documents[key] = make()
        return self._documents[key]

    def of_kind(self, api_version: str, kind: str) -> APIResource | None:
        return next(
            (resource for resource in self.resources if (resource.group_version, resource.kind) == (api_version, kind)),
            None,
        )

    def group_versions(self) -> list[tuple[str, str]]:
        """Return the served groups and versions: groups in order of appearance, the core group first; versions by rank.

        Source: apimachinery version.CompareKubeAwareVersionStrings (customresource_discovery_controller.go).
        """
        seen = dict.fromkeys((r.group, r.version) for r in self.resources)
        for one in (("authentication.k8s.io", "v1"), ("authorization.k8s.io", "v1")):
            seen.setdefault(one)
        places = {group: i for i, group in enumerate(dict.fromkeys(group for group, _ in seen))}
        return sorted(seen, key=lambda one: (places[one[0]], *version_rank(one[1])))


_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Return a version's sort key: stable before beta before alpha, higher numbers first, then other names."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    major, stage, minor = found.groups()
    return {None: 0, "beta": 1, "alpha": 2}[stage], -int(major), -int(minor or 0), ""
