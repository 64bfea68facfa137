"""Role-based access control: the roles and bindings of the cluster, obeyed for everybody but the administrator.

Source: plugin/pkg/auth/authorizer/rbac (RBACAuthorizer.Authorize, RuleAllows), pkg/registry/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kitlib.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject
from kitlib.apiserver.request import Request, Target, parse_path
from kitlib.apiserver.users import User
from kitlib.cluster.store.store import Store

_OPEN_PATHS = ("/api", "/apis", "/healthz", "/livez", "/readyz", "/version", "/openapi")
"""What every user may read. Source: bootstrappolicy system:discovery, system:public-info-viewer."""
_SELF_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
"""What every user may ask about oneself. Source: bootstrappolicy system:basic-user."""

VIEWER = "viewer"
VIEW = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "view", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
    "rules": [
        {
            "apiGroups": ["", "apps", "autoscaling", "batch", "metrics.k8s.io", "networking.k8s.io", "policy"],
            "resources": [
                *("bindings", "configmaps", "endpoints", "events", "limitranges", "namespaces", "namespaces/status"),
                *("nodes", "persistentvolumeclaims", "persistentvolumeclaims/status", "pods", "pods/log"),
                *("pods/status", "replicationcontrollers", "replicationcontrollers/scale", "resourcequotas"),
                *("resourcequotas/status", "serviceaccounts", "services", "services/status", "controllerrevisions"),
                *("daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status"),
                *("replicasets", "replicasets/scale", "replicasets/status", "statefulsets", "statefulsets/scale"),
                *("statefulsets/status", "horizontalpodautoscalers", "horizontalpodautoscalers/status", "cronjobs"),
                *("cronjobs/status", "jobs", "jobs/status", "ingresses", "ingresses/status", "networkpolicies"),
                *("poddisruptionbudgets", "poddisruptionbudgets/status"),
            ],
            "verbs": ["get", "list", "watch"],
        }
    ],
}
"""Reads everything but Secrets and roles. Source: bootstrappolicy system:aggregate-to-view; nodes are added."""
VIEW_BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": VIEWER},
    "subjects": [{"kind": "User", "name": VIEWER, "apiGroup": "rbac.authorization.k8s.io"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
}


class Attributes(NamedTuple):
    """What a request is about. Source: authorizer.Attributes.

    Attributes:
        verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
        group, resource, subresource, namespace, name: of the object.
        path: of a request that is about no resource.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


def attributes(request: Request) -> Attributes:
    """What a request is about. Source: RequestInfoFactory.NewRequestInfo."""
    target = parse_path(request.path)
    if target is None or not _is_resource(request.path):
        return Attributes(request.method.lower(), path=request.path)
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(request.method, "get")
    if verb == "get" and not target.name:
        verb = "list"
    if verb in ("get", "list") and request.flag("watch"):
        verb = "watch"
    if verb == "delete" and not target.name:
        verb = "deletecollection"
    return of_target(verb, target)


def of_target(verb: str, target: Target) -> Attributes:
    """The attributes of a path."""
    namespace = target.name if target.plural == "namespaces" and not target.group else target.namespace
    return Attributes(verb, target.group, target.plural, target.subresource, namespace, target.name)


def _is_resource(path: str) -> bool:
    parts = path.strip("/").split("/")
    return (parts[0] == "api" and len(parts) > 2) or (parts[0] == "apis" and len(parts) > 3)


class Authorizer:
    """Answers who may do what.

    Args:
        store: with the roles and bindings.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, user: User, about: Attributes) -> bool:
        """Whether a user may do something."""
        if user.is_master:
            return True
        if about.path:
            path = about.path.rstrip("/") or "/"
            reads = about.verb in ("get", "head")
            if reads and any(path == one or path.startswith(f"{one}/") for one in _OPEN_PATHS):
                return True
        elif about.resource in _SELF_REVIEWS and about.verb == "create":
            return True
        return any(rule_allows(rule, about) for rule in self.rules(user, about.namespace))

    def rules(self, user: User, namespace: str = "") -> Iterator[PolicyRule]:
        """The rules that hold for a user in a namespace, those for the whole cluster first."""
        for one in self._store.list(ClusterRoleBinding, copy=False):
            if applies(user, one.subjects, ""):
                yield from self._role(one.role_ref, "")
        if namespace:
            for binding in self._store.list(RoleBinding, namespace, copy=False):
                if applies(user, binding.subjects, namespace):
                    yield from self._role(binding.role_ref, namespace)

    def _role(self, reference: RoleRef, namespace: str) -> Iterable[PolicyRule]:
        found: ClusterRole | Role | None
        if reference.kind == "ClusterRole":
            found = self._store.find(ClusterRole, reference.name, copy=False)
        else:
            found = self._store.find(Role, reference.name, namespace, copy=False)
        return found.rules if found is not None else ()


def applies(user: User, subjects: Iterable[Subject], namespace: str) -> bool:
    """Whether a binding is about a user. Source: rbac appliesTo."""
    for subject in subjects:
        if subject.kind == "User" and subject.name == user.name:
            return True
        if subject.kind == "Group" and subject.name in user.groups:
            return True
        place = subject.namespace or namespace
        if subject.kind == "ServiceAccount" and user.name == f"system:serviceaccount:{place}:{subject.name}":
            return True
    return False


def rule_allows(rule: PolicyRule, about: Attributes) -> bool:
    """Whether a rule covers a request. Source: rbac RuleAllows; pkg/apis/rbac/v1 evaluation_helpers."""
    if about.verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if about.path:
        return any(_url_matches(one, about.path) for one in rule.non_resource_urls)
    if about.group not in rule.api_groups and "*" not in rule.api_groups:
        return False
    wanted = f"{about.resource}/{about.subresource}" if about.subresource else about.resource
    accepted = {"*", wanted, f"*/{about.subresource}"} if about.subresource else {"*", wanted}
    if not accepted & set(rule.resources):
        return False
    return not rule.resource_names or about.name in rule.resource_names


def _url_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def forbidden(user: User, about: Attributes) -> str:
    """What a client is told. Source: apiserver responsewriters.ForbiddenStatusError, forbiddenMessage."""
    if about.path:
        return f'forbidden: User "{user.name}" cannot {about.verb} path "{about.path}"'
    resource = f"{about.resource}/{about.subresource}" if about.subresource else about.resource
    qualified = f"{about.resource}.{about.group}" if about.group else about.resource
    where = f'in the namespace "{about.namespace}"' if about.namespace else "at the cluster scope"
    name = f' "{about.name}"' if about.name else ""
    what = f'User "{user.name}" cannot {about.verb} resource "{resource}" in API group "{about.group}" {where}'
    return f"{qualified}{name} is forbidden: {what}"
