"""Aggregation of ClusterRoles: a role with an `aggregationRule` gets the rules of all ClusterRoles that it selects.

Source: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go (syncClusterRole, ruleExists).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.rbac import ClusterRole, PolicyRule
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta


class ClusterRoleAggregationController(Controller):
    """The controller of ClusterRoles that aggregate others."""

    name: ClassVar[str] = "clusterrole-aggregation-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"ClusterRole": self._on_role}

    def _on_role(self, change: Delta) -> None:
        """Enqueue all aggregating roles, because a change of any role may affect them. Source: enqueue."""
        for role in self.informers.of_namespace("ClusterRole", ""):
            if isinstance(role, ClusterRole) and role.aggregation_rule is not None:
                self.enqueue(role)

    def sync(self, key: Key) -> None:
        """Source: syncClusterRole."""
        role: ClusterRole | None = self.find(ClusterRole, key)
        if role is None or role.aggregation_rule is None:
            return
        found = self.informers.of_namespace("ClusterRole", "")
        others = sorted((one for one in found if isinstance(one, ClusterRole)), key=lambda one: one.name)
        rules: list[PolicyRule] = []
        for selector in role.aggregation_rule.cluster_role_selectors:
            matcher = LabelSelectorMatcher(selector)
            for cluster_role in others:
                if cluster_role.name != role.name and matcher.matches(cluster_role.metadata.labels):
                    rules += [rule for rule in cluster_role.rules if rule not in rules]
        if rules != role.rules:
            changed = deepcopy(role)
            changed.rules = deepcopy(rules)
            self.api.update(changed)
