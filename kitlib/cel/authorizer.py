"""The `authorizer` variable of CEL: checks whether the requesting user or a service account may do something.

Source: k8s.io/apiserver/pkg/cel/library/authz.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kitlib.api import authorization
from kitlib.api.authorization import Attributes
from kitlib.cel.library import BOOL, STRING, EvaluationError, Overload, charge

_GROUP = "kubernetes.authorization."
AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION = (
    f"{_GROUP}{name}" for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
FIELDS = {"requestResource": RESOURCE_CHECK}
COST = 70_000
"""The cost of one check in elements. Source: authz.go, 350,000 units; an element costs five."""


ServiceAccount = tuple[str, str]
"""A service account's namespace and name."""
Decide = Callable[[Attributes, ServiceAccount | None], authorization.AuthorizationDecision]
"""Decides about the attributes for a service account, or for the requesting user if None."""


class AuthorizerValue(Mapping[str, Any]):
    """The value of `authorizer`.

    Args:
        decide: the authorizer's decision function.
        request: the attributes of the request that is admitted, for `authorizer.requestResource`.
        account: the service account to check; None = the requesting user.
    """

    type_name = AUTHORIZER

    def __init__(self, decide: Decide, request: Attributes, account: ServiceAccount | None = None) -> None:
        self.decide, self.request, self.account = decide, request, account

    def ask(self, check: type[_Check], about: Attributes) -> _Check:
        return check(self.decide, about, self.account)

    def __getitem__(self, name: str) -> Any:
        if name not in FIELDS:
            raise KeyError(name)
        return ResourceCheck(self.decide, self.request, None)

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)


@dataclass(frozen=True)
class _Check:
    """An authorization check that is being built; `check(verb)` completes it."""

    decide: Decide
    about: Attributes
    account: ServiceAccount | None

    def narrowed(self, **about: str) -> ResourceCheck:
        """Return the check with these attributes set."""
        return ResourceCheck(self.decide, self.about._replace(**about), self.account)


class PathCheck(_Check):
    """A check of a non-resource path."""

    type_name: ClassVar[str] = PATH_CHECK


class GroupCheck(_Check):
    """A check of an API group; `resource` turns it into a check of a resource."""

    type_name: ClassVar[str] = GROUP_CHECK


class ResourceCheck(_Check):
    """A check of a resource."""

    type_name: ClassVar[str] = RESOURCE_CHECK


@dataclass(frozen=True)
class DecisionValue:
    """The result of a check."""

    type_name: ClassVar[str] = DECISION
    answer: authorization.AuthorizationDecision


def _path(authorizer: AuthorizerValue, path: str) -> _Check:
    if not path:
        raise EvaluationError("path must not be empty")
    return authorizer.ask(PathCheck, Attributes(path=path))


def _checked(check: _Check, verb: str) -> DecisionValue:
    charge(COST)
    return DecisionValue(check.decide(check.about._replace(verb=verb), check.account))


def _narrows(kind: str, field: str) -> list[Overload]:
    return [Overload((kind, STRING), RESOURCE_CHECK, lambda check, value: check.narrowed(**{field: value}))]


def _unchanged(check: _Check, selector: str) -> _Check:
    """Return the check itself: RBAC rules ignore selectors. Source: the RBAC authorizer."""
    return check


METHODS: dict[str, list[Overload]] = {
    "path": [Overload((AUTHORIZER, STRING), PATH_CHECK, _path)],
    "group": [
        Overload((AUTHORIZER, STRING), GROUP_CHECK, lambda one, group: one.ask(GroupCheck, Attributes(group=group)))
    ],
    "serviceAccount": [
        Overload(
            (AUTHORIZER, STRING, STRING),
            AUTHORIZER,
            lambda one, namespace, name: AuthorizerValue(one.decide, one.request, (namespace, name)),
        )
    ],
    "resource": _narrows(GROUP_CHECK, "resource"),
    **{field: _narrows(RESOURCE_CHECK, field) for field in ("subresource", "namespace", "name")},
    "fieldSelector": [Overload((RESOURCE_CHECK, STRING), RESOURCE_CHECK, _unchanged)],
    "labelSelector": [Overload((RESOURCE_CHECK, STRING), RESOURCE_CHECK, _unchanged)],
    "check": [Overload((kind, STRING), DECISION, _checked) for kind in (PATH_CHECK, RESOURCE_CHECK)],
    "allowed": [Overload((DECISION,), BOOL, lambda one: one.answer.allowed)],
    "reason": [Overload((DECISION,), STRING, lambda one: one.answer.reason)],
    "errored": [Overload((DECISION,), BOOL, lambda one: False)],
    "error": [Overload((DECISION,), STRING, lambda one: "")],
}
