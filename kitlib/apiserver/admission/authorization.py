"""Role-based access control with the cluster's roles and bindings, for everyone but system:masters.

Source: plugin/pkg/auth/authorizer/rbac (RBACAuthorizer.Authorize, RuleAllows), pkg/registry/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kitlib.api.authorization import Attributes, AuthorizationDecision
from kitlib.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject
from kitlib.apiserver.admission.requester import MASTERS, SERVICE_ACCOUNTS
from kitlib.apiserver.store.store import Store

_OPEN_PATHS = ("/api", "/apis", "/healthz", "/livez", "/readyz", "/version", "/openapi")
"""Paths that every user may read. Source: bootstrappolicy system:discovery, system:public-info-viewer."""
_ISSUER_PATHS = ("/.well-known/openid-configuration", "/openid/v1/jwks")
"""Paths that service accounts may read. Source: bootstrappolicy system:service-account-issuer-discovery."""
_SELF_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
"""Reviews that every user may create about itself. Source: bootstrappolicy system:basic-user."""
Binding = ClusterRoleBinding | RoleBinding


class Asking(Protocol):
    """The part of a user that authorization needs."""

    @property
    def name(self) -> str:
        """The user's name: `ada`, `system:serviceaccount:default:web`."""
        ...

    @property
    def groups(self) -> tuple[str, ...]:
        """The user's groups."""
        ...


class RBACAuthorizer:
    """The authorizer, which decides on requests by roles and bindings.

    Args:
        store: the object store with the roles and bindings.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, user: Asking, about: Attributes) -> bool:
        """Return whether a user may make a request."""
        return self.decide(user, about).allowed

    def decide(self, user: Asking, about: Attributes) -> AuthorizationDecision:
        """Decide whether a user may make a request; the reason names the binding that allows it."""
        if MASTERS in user.groups:
            return AuthorizationDecision(True)
        if about.path:
            path = about.path.rstrip("/") or "/"
            reads = about.verb in ("get", "head")
            if reads and any(path == one or path.startswith(f"{one}/") for one in _OPEN_PATHS):
                return AuthorizationDecision(True)
            if about.verb == "get" and path in _ISSUER_PATHS and SERVICE_ACCOUNTS in user.groups:
                return AuthorizationDecision(True)
        elif about.resource in _SELF_REVIEWS and about.verb == "create":
            return AuthorizationDecision(True)
        for binding, subject, rules in self._granted(user, about.namespace):
            if any(rule_allows(rule, about) for rule in rules):
                return AuthorizationDecision(True, f"RBAC: allowed by {_described(binding, subject)}")
        return AuthorizationDecision(False)

    def rules(self, user: Asking, namespace: str = "") -> Iterator[PolicyRule]:
        """Yield the rules that apply to a user in a namespace, those for the whole cluster first."""
        for _, _, rules in self._granted(user, namespace):
            yield from rules

    def _granted(self, user: Asking, namespace: str) -> Iterator[tuple[Binding, Subject, Iterable[PolicyRule]]]:
        """Yield the bindings of a user with the matching subject and the rules of the role."""
        for one in self._store.list(ClusterRoleBinding, copy=False):
            subject = applies(user, one.subjects, "")
            if subject is not None:
                yield one, subject, self._role(one.role_ref, "")
        for binding in self._store.list(RoleBinding, namespace, copy=False) if namespace else ():
            subject = applies(user, binding.subjects, namespace)
            if subject is not None:
                yield binding, subject, self._role(binding.role_ref, namespace)

    def _role(self, reference: RoleRef, namespace: str) -> Iterable[PolicyRule]:
        found: ClusterRole | Role | None
        if reference.kind == "ClusterRole":
            found = self._store.find(ClusterRole, reference.name, copy=False)
        else:
            found = self._store.find(Role, reference.name, namespace, copy=False)
        return found.rules if found is not None else ()


def applies(user: Asking, subjects: Iterable[Subject], namespace: str) -> Subject | None:
    """Return the subject of a binding that matches a user; None if there is none. Source: rbac appliesTo."""
    for subject in subjects:
        if subject.kind == "User" and subject.name == user.name:
            return subject
        if subject.kind == "Group" and subject.name in user.groups:
            return subject
        place = subject.namespace or namespace
        if subject.kind == "ServiceAccount" and user.name == f"system:serviceaccount:{place}:{subject.name}":
            return subject
    return None


def _described(binding: Binding, subject: Subject) -> str:
    """Describe a binding. Source: rbac clusterRoleBindingDescriber, roleBindingDescriber, describeSubject."""
    local = isinstance(binding, RoleBinding)
    kind = "RoleBinding" if local else "ClusterRoleBinding"
    name = f"{binding.name}/{binding.namespace}" if local else binding.name
    place = subject.namespace or binding.namespace
    who = f"{subject.name}/{place}" if subject.kind == "ServiceAccount" else subject.name
    return f'{kind} "{name}" of {binding.role_ref.kind} "{binding.role_ref.name}" to {subject.kind} "{who}"'


def rule_allows(rule: PolicyRule, about: Attributes) -> bool:
    """Return whether a rule allows a request. Source: rbac RuleAllows; pkg/apis/rbac/v1 evaluation_helpers."""
    if about.verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if about.path:
        return any(_url_matches(url, about.path) for url in rule.non_resource_urls)
    if about.group not in rule.api_groups and "*" not in rule.api_groups:
        return False
    wanted = f"{about.resource}/{about.subresource}" if about.subresource else about.resource
    accepted = {"*", wanted, f"*/{about.subresource}"} if about.subresource else {"*", wanted}
    if not accepted & set(rule.resources):
        return False
    return not rule.resource_names or about.name in rule.resource_names


def _url_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
