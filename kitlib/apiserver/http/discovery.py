"""Discovery: the served groups, versions, resources and verbs, in the plain and the aggregated form.

Source: apiserver pkg/endpoints/discovery (APIVersionHandler, aggregated), KEP-3352.
"""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.http.resources import APIResource, ResourceTable, Subresource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_REVIEWS = {
    "authorization.k8s.io": (
        ("localsubjectaccessreviews", "LocalSubjectAccessReview", True),
        ("selfsubjectaccessreviews", "SelfSubjectAccessReview", False),
        ("selfsubjectrulesreviews", "SelfSubjectRulesReview", False),
        ("subjectaccessreviews", "SubjectAccessReview", False),
    ),
    "authentication.k8s.io": (
        ("selfsubjectreviews", "SelfSubjectReview", False),
        ("tokenreviews", "TokenReview", False),
    ),
}


def reviews(group: str) -> tuple[tuple[str, str, bool], ...]:
    """Return a group's resources that can only be created: plural, kind, whether namespaced."""
    return _REVIEWS.get(group, ())


def version_info(release: str) -> dict[str, str]:
    """Return the response to `/version`."""
    major, minor = release.split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.0+kitlib",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def api_versions(address: str) -> dict[str, Any]:
    """Return the response to `/api` in the plain form."""
    servers = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": servers}


def group_list(table: ResourceTable) -> dict[str, Any]:
    """Return the response to `/apis` in the plain form."""
    groups = [api_group(table, name) for name in _groups(table) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(table: ResourceTable, name: str) -> dict[str, Any]:
    """Return the response to `/apis/GROUP`."""
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in _groups(table)[name]]
    made: dict[str, Any] = {"name": name, "versions": versions, "preferredVersion": versions[0]}
    return {"kind": "APIGroup", "apiVersion": "v1", **made}


def resource_list(table: ResourceTable, group: str, version: str) -> dict[str, Any] | None:
    """Return the response to `/api/v1` or `/apis/GROUP/VERSION`; None if the version is not served."""
    if (group, version) not in table.group_versions():
        return None
    rows: list[dict[str, Any]] = []
    for resource in table.resources:
        if (resource.group, resource.version) == (group, version):
            rows.append(_row(resource))
            rows += [_subrow(resource, below) for below in resource.subresources]
    for plural, kind, namespaced in reviews(group):
        row = {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind}
        rows.append({**row, "verbs": ["create"]})
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": rows}


def aggregated(table: ResourceTable, core: bool) -> dict[str, Any]:
    """Return the response to `/api` or `/apis` in the aggregated form: all resources in one document."""
    items = []
    for group, versions in _groups(table).items():
        if bool(group) == core:
            continue
        found = [
            {"version": v, "resources": _aggregated_rows(table, group, v), "freshness": "Current"} for v in versions
        ]
        items.append({"metadata": {"name": group, "creationTimestamp": None}, "versions": found})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _groups(table: ResourceTable) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group, version in table.group_versions():
        found.setdefault(group, []).append(version)
    return found


def _row(one: APIResource) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.plural, "singularName": one.singular, "namespaced": one.namespaced}
    row |= {"kind": one.kind, "verbs": list(one.verbs)}
    if one.short_names:
        row["shortNames"] = list(one.short_names)
    if one.categories:
        row["categories"] = list(one.categories)
    return row


def _subrow(one: APIResource, below: Subresource) -> dict[str, Any]:
    row: dict[str, Any] = {"name": f"{one.plural}/{below.name}", "singularName": "", "namespaced": one.namespaced}
    if below.group or below.version:
        row |= {"group": below.group, "version": below.version}
    return {**row, "kind": below.kind, "verbs": list(below.verbs)}


def _aggregated_rows(table: ResourceTable, group: str, version: str) -> list[dict[str, Any]]:
    rows = []
    for resource in table.resources:
        if (resource.group, resource.version) != (group, version):
            continue
        row: dict[str, Any] = {
            "resource": resource.plural,
            "responseKind": {"group": group, "version": version, "kind": resource.kind},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": resource.singular,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            row["shortNames"] = list(resource.short_names)
        if resource.categories:
            row["categories"] = list(resource.categories)
        if resource.subresources:
            row["subresources"] = [
                {
                    "subresource": s.name,
                    "responseKind": {"group": s.group or group, "version": s.version or version, "kind": s.kind},
                    "verbs": list(s.verbs),
                }
                for s in resource.subresources
            ]
        rows.append(row)
    for plural, kind, namespaced in reviews(group):
        rows.append(
            {
                "resource": plural,
                "responseKind": {"group": group, "version": version, "kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
                "singularResource": kind.lower(),
                "verbs": ["create"],
            }
        )
    return rows
