"""The RBAC attributes of a request, the default roles, and the message of a forbidden request.

Source: apiserver endpoints/request RequestInfoFactory; bootstrappolicy; handlers/responsewriters.
"""

from __future__ import annotations

from kitlib.api.authorization import Attributes
from kitlib.apiserver.http.request import Request, Target, parse_path
from kitlib.apiserver.http.users import User

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
"""The default role for reading everything but Secrets and roles.

Source: bootstrappolicy system:aggregate-to-view; nodes are added.
"""
VIEW_BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": VIEWER},
    "subjects": [{"kind": "User", "name": VIEWER, "apiGroup": "rbac.authorization.k8s.io"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
}


def attributes(request: Request) -> Attributes:
    """Return the attributes of a request. Source: RequestInfoFactory.NewRequestInfo."""
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
    """Return the attributes of a verb on a path."""
    namespace = target.name if target.plural == "namespaces" and not target.group else target.namespace
    return Attributes(verb, target.group, target.plural, target.subresource, namespace, target.name)


def _is_resource(path: str) -> bool:
    parts = path.strip("/").split("/")
    return (parts[0] == "api" and len(parts) > 2) or (parts[0] == "apis" and len(parts) > 3)


def forbidden(user: User, about: Attributes) -> str:
    """Return the message of a forbidden request.

    Source: apiserver responsewriters.ForbiddenStatusError, forbiddenMessage.
    """
    if about.path:
        return f'forbidden: User "{user.name}" cannot {about.verb} path "{about.path}"'
    resource = f"{about.resource}/{about.subresource}" if about.subresource else about.resource
    qualified = f"{about.resource}.{about.group}" if about.group else about.resource
    where = f'in the namespace "{about.namespace}"' if about.namespace else "at the cluster scope"
    name = f' "{about.name}"' if about.name else ""
    what = f'User "{user.name}" cannot {about.verb} resource "{resource}" in API group "{about.group}" {where}'
    return f"{qualified}{name} is forbidden: {what}"
