"""Whether a policy or a binding is about a write.

Every version of a group counts as the one that a rule names, which is what `matchPolicy: Equivalent` means for kinds
whose objects are the same in all of them.

Source: plugin/policy/matching Matcher.Matches; plugin/webhook/predicates (namespace, object, rules Matcher).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.admissionregistration import MatchResources, NamedRuleWithOperations
from kitlib.api.core import Namespace
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.apiserver.admission.attributes import AdmissionAttributes

EXACT = "Exact"
_ANY = "*"


def matches(resources: MatchResources, about: AdmissionAttributes, namespace: Namespace | None) -> bool:
    """Whether the selectors match and a rule does, and no excluding rule.

    Args:
        namespace: of the object; None where it has none.
    """
    if not _matches_namespace(resources, about, namespace) or not _matches_labels(resources, about):
        return False
    exact = resources.match_policy == EXACT
    if _some(resources.exclude_resource_rules, about, exact):
        return False
    return not resources.resource_rules or _some(resources.resource_rules, about, exact)


def _matches_namespace(resources: MatchResources, about: AdmissionAttributes, namespace: Namespace | None) -> bool:
    """Objects without a namespace are matched, namespaces by labels of their own. Source: MatchNamespaceSelector."""
    selector = resources.namespace_selector
    if selector is None:
        return True
    if isinstance(about.object, Namespace) and not about.subresource:
        namespace = about.object
    return namespace is None or LabelSelectorMatcher(selector).matches(namespace.metadata.labels)


def _matches_labels(resources: MatchResources, about: AdmissionAttributes) -> bool:
    """Before or after the write. Source: MatchObjectSelector."""
    if resources.object_selector is None:
        return True
    matcher = LabelSelectorMatcher(resources.object_selector)
    return any(matcher.matches(one.metadata.labels) for one in (about.new, about.old) if one is not None)


def _some(rules: Sequence[NamedRuleWithOperations], about: AdmissionAttributes, exact: bool) -> bool:
    return any(_matches_rule(rule, about, exact) for rule in rules)


def _matches_rule(rule: NamedRuleWithOperations, about: AdmissionAttributes, exact: bool) -> bool:
    """Source: rules.Matcher.Matches; resourceNames of matching.go."""
    resource = about.resource
    scope = "Namespaced" if resource.namespaced else "Cluster"
    return (
        rule.scope in (None, "", _ANY, scope)
        and _has(rule.operations, about.operation)
        and _has(rule.api_groups, resource.group)
        and (not exact or _has(rule.api_versions, about.version))
        and any(_names(one, resource.plural, about.subresource) for one in rule.resources)
        and (not rule.resource_names or about.object.name in rule.resource_names)
    )


def _has(values: Sequence[str], value: str) -> bool:
    return _ANY in values or value in values


def _names(pattern: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/status`, `*`, `*/*`."""
    resource, _, below = pattern.partition("/")
    return resource in (_ANY, plural) and below in ((subresource, _ANY) if subresource else ("", _ANY))
