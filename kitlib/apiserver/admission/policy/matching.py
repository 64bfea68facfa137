"""The matching of writes by policies and bindings.

All versions of a group match the one in a rule: this is `matchPolicy: Equivalent` for kinds whose objects are the
same in all versions.

Source: plugin/policy/matching Matcher.Matches; plugin/webhook/predicates (namespace, object, rules Matcher).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.admissionregistration import MatchResources, NamedRuleWithOperations
from kitlib.api.core import Namespace
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.apiserver.admission.attributes import CONNECT, AdmissionAttributes

EXACT = "Exact"
_ANY = "*"


def matches(resources: MatchResources, about: AdmissionAttributes, namespace: Namespace | None) -> bool:
    """Return whether the selectors and a rule match, and no excluding rule does.

    Args:
        resources: the rules and selectors.
        about: the write.
        namespace: the object's namespace; None if it has none.
    """
    if not _matches_namespace(resources, about, namespace) or not _matches_labels(resources, about):
        return False
    exact = resources.match_policy == EXACT
    if _some(resources.exclude_resource_rules, about, exact):
        return False
    return not resources.resource_rules or _some(resources.resource_rules, about, exact)


def _matches_namespace(resources: MatchResources, about: AdmissionAttributes, namespace: Namespace | None) -> bool:
    """Match the namespace selector: cluster-scoped objects match, a Namespace is matched by its own labels.

    Source: MatchNamespaceSelector.
    """
    selector = resources.namespace_selector
    if selector is None:
        return True
    if isinstance(about.object, Namespace) and not about.subresource:
        namespace = about.object
    return namespace is None or LabelSelectorMatcher(selector).matches(namespace.metadata.labels)


def _matches_labels(resources: MatchResources, about: AdmissionAttributes) -> bool:
    """Match the object selector on the object before or after the write. Source: MatchObjectSelector."""
    if resources.object_selector is None:
        return True
    matcher = LabelSelectorMatcher(resources.object_selector)
    if about.operation == CONNECT:  # the options have no metadata, so that only the empty selector selects them
        return not (resources.object_selector.match_labels or resources.object_selector.match_expressions)
    return any(matcher.matches(item.metadata.labels) for item in (about.new, about.old) if item is not None)


def _some(rules: Sequence[NamedRuleWithOperations], about: AdmissionAttributes, exact: bool) -> bool:
    return any(_matches_rule(rule, about, exact) for rule in rules)


def _matches_rule(rule: NamedRuleWithOperations, about: AdmissionAttributes, exact: bool) -> bool:
    """Return whether a rule matches. Source: rules.Matcher.Matches; resourceNames of matching.go."""
    resource = about.resource
    scope = "Namespaced" if resource.namespaced else "Cluster"
    return (
        rule.scope in (None, "", _ANY, scope)
        and _has(rule.operations, about.operation)
        and _has(rule.api_groups, resource.group)
        and (not exact or _has(rule.api_versions, about.version))
        and any(_names(one, resource.plural, about.subresource) for one in rule.resources)
        and (not rule.resource_names or about.name in rule.resource_names)
    )


def _has(values: Sequence[str], value: str) -> bool:
    return _ANY in values or value in values


def _names(pattern: str, plural: str, subresource: str) -> bool:
    """Return whether a pattern matches a resource: `pods`, `pods/status`, `pods/*`, `*/status`, `*`, `*/*`."""
    resource, _, below = pattern.partition("/")
    return resource in (_ANY, plural) and below in ((subresource, _ANY) if subresource else ("", _ANY))
