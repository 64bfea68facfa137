"""`authorizer` in CEL: whether the user who writes, or a service account, may do something else.

Source: k8s.io/apiserver/pkg/cel/library/authz.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from kitlib.api.cel_library import BOOL, STRING, EvaluationError, Overload, charge

_GROUP = "kubernetes.authorization."
AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION = (
    f"{_GROUP}{name}" for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
FIELDS = {"requestResource": RESOURCE_CHECK}
COST = 70_000
"""Of one check. Source: authz.go's cost of 350,000, of which an element is five."""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        account: namespace and name of the service account that is meant; None = the user who writes.
    """

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    account: tuple[str, str] | None = None


class Answer(NamedTuple):
    """Whether it is allowed, and why."""

    allowed: bool
    reason: str = ""


Decide = Callable[[Question], Answer]


class Authorizer(Mapping[str, Any]):
    """Answers questions.

    Args:
        decide: how.
        request: what the write itself is about.
        account: whom questions are about.
    """

    type_name = AUTHORIZER

    def __init__(self, decide: Decide, request: Question, account: tuple[str, str] | None = None) -> None:
        self.decide, self.request, self.account = decide, request, account

    def ask(self, check: type[_Check], **about: str) -> _Check:
        return check(self.decide, Question(account=self.account, **about))

    def __getitem__(self, name: str) -> Any:
        if name not in FIELDS:
            raise KeyError(name)
        return ResourceCheck(self.decide, self.request)

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)


@dataclass(frozen=True)
class _Check:
    """A question that is not complete."""

    decide: Decide
    about: Question


class PathCheck(_Check):
    """About a path that is no resource's."""

    type_name: ClassVar[str] = PATH_CHECK


class GroupCheck(_Check):
    """About a group of the API."""

    type_name: ClassVar[str] = GROUP_CHECK


class ResourceCheck(_Check):
    """About a resource."""

    type_name: ClassVar[str] = RESOURCE_CHECK


@dataclass(frozen=True)
class Decision:
    """What was answered."""

    type_name: ClassVar[str] = DECISION
    answer: Answer


def _path(authorizer: Authorizer, path: str) -> _Check:
    if not path:
        raise EvaluationError("path must not be empty")
    return authorizer.ask(PathCheck, path=path)


def _checked(check: _Check, verb: str) -> Decision:
    charge(COST)
    return Decision(check.decide(replace(check.about, verb=verb)))


def _narrowed(narrow: Callable[[Question, str], Question]) -> list[Overload]:
    def narrowed(check: _Check, value: str) -> _Check:
        return ResourceCheck(check.decide, narrow(check.about, value))

    return [Overload((RESOURCE_CHECK, STRING), RESOURCE_CHECK, narrowed)]


def _unchanged(check: _Check, selector: str) -> _Check:
    """Rules of roles know no selectors. Source: RBAC's authorizer, which leaves them out."""
    return check


METHODS: dict[str, list[Overload]] = {
    "path": [Overload((AUTHORIZER, STRING), PATH_CHECK, _path)],
    "group": [Overload((AUTHORIZER, STRING), GROUP_CHECK, lambda one, group: one.ask(GroupCheck, group=group))],
    "serviceAccount": [
        Overload(
            (AUTHORIZER, STRING, STRING),
            AUTHORIZER,
            lambda one, namespace, name: Authorizer(one.decide, one.request, (namespace, name)),
        )
    ],
    "resource": [
        Overload(
            (GROUP_CHECK, STRING),
            RESOURCE_CHECK,
            lambda check, name: ResourceCheck(check.decide, replace(check.about, resource=name)),
        )
    ],
    "subresource": _narrowed(lambda about, value: replace(about, subresource=value)),
    "namespace": _narrowed(lambda about, value: replace(about, namespace=value)),
    "name": _narrowed(lambda about, value: replace(about, name=value)),
    "fieldSelector": [Overload((RESOURCE_CHECK, STRING), RESOURCE_CHECK, _unchanged)],
    "labelSelector": [Overload((RESOURCE_CHECK, STRING), RESOURCE_CHECK, _unchanged)],
    "check": [Overload((kind, STRING), DECISION, _checked) for kind in (PATH_CHECK, RESOURCE_CHECK)],
    "allowed": [Overload((DECISION,), BOOL, lambda one: one.answer.allowed)],
    "reason": [Overload((DECISION,), STRING, lambda one: one.answer.reason)],
    "errored": [Overload((DECISION,), BOOL, lambda one: False)],
    "error": [Overload((DECISION,), STRING, lambda one: "")],
}
