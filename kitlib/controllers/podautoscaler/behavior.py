"""Limits of the rate of scaling: stabilization windows and scaling policies.

Source: pkg/controller/podautoscaler/horizontal.go (stabilizeRecommendationWithBehaviors,
convertDesiredReplicasWithBehaviorRate, calculateScaleUpLimitWithScalingRules, calculateScaleDownLimitWithBehaviors).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kitlib.api.autoscaling import HorizontalPodAutoscaler, HPAScalingPolicy, HPAScalingRules

SCALE_UP = HPAScalingRules(
    stabilization_window_seconds=0,
    select_policy="Max",
    policies=[
        HPAScalingPolicy(type="Pods", value=4, period_seconds=15),
        HPAScalingPolicy(type="Percent", value=100, period_seconds=15),
    ],
)
SCALE_DOWN = HPAScalingRules(
    stabilization_window_seconds=300,
    select_policy="Max",
    policies=[HPAScalingPolicy(type="Percent", value=100, period_seconds=15)],
)


class Note(NamedTuple):
    """The content of a condition: status, reason, message."""

    status: str
    reason: str
    message: str


class ScaleEvent(NamedTuple):
    """A change of the scale, or a recommendation: the time and the number of replicas."""

    at: datetime
    replicas: int


@dataclass
class ScaleHistory:
    """The changes and the recommendations of one autoscaler."""

    recommendations: list[ScaleEvent] = field(default_factory=list)
    up: list[ScaleEvent] = field(default_factory=list)
    down: list[ScaleEvent] = field(default_factory=list)


def rules_of(hpa: HorizontalPodAutoscaler) -> tuple[HPAScalingRules, HPAScalingRules]:
    """Return the rules for scaling up and down, with defaults."""
    behavior = hpa.spec.behavior
    up = behavior.scale_up if behavior is not None else None
    down = behavior.scale_down if behavior is not None else None
    return _defaulted(up, SCALE_UP), _defaulted(down, SCALE_DOWN)


def _defaulted(rules: HPAScalingRules | None, default: HPAScalingRules) -> HPAScalingRules:
    if rules is None:
        return default
    window = rules.stabilization_window_seconds
    return HPAScalingRules(
        stabilization_window_seconds=default.stabilization_window_seconds if window is None else window,
        select_policy=rules.select_policy or default.select_policy,
        policies=rules.policies or default.policies,
        tolerance=rules.tolerance,
    )


def stabilize(
    hpa: HorizontalPodAutoscaler, history: ScaleHistory, current: int, desired: int, now: datetime
) -> tuple[int, Note]:
    """Return the recommendation limited by those within the stabilization windows, and its condition."""
    up, down = rules_of(hpa)
    windows = up.stabilization_window_seconds or 0, down.stabilization_window_seconds or 0
    lowest = highest = desired
    kept = []
    for recommendation in history.recommendations:
        age = (now - recommendation.at).total_seconds()
        if age < windows[0]:
            lowest = min(lowest, recommendation.replicas)
        if age < windows[1]:
            highest = max(highest, recommendation.replicas)
        if age < max(windows):
            kept.append(recommendation)
    # The unstabilized recommendation is recorded; a stabilized one would prolong its own window.
    history.recommendations = [*kept, ScaleEvent(now, desired)]
    # Up to the lowest recent recommendation when scaling up, down to the highest one when scaling down: a short peak or
    # a short drop changes nothing. Source: stabilizeRecommendationWithBehaviors.
    found = max(lowest, current)
    found = min(found, highest) if found > highest else found
    if found == desired:
        return found, Note("True", "ReadyForNewScale", "recommended size matches current size")
    if desired > current:
        message = "recent recommendations were lower than current one, applying the lowest recent recommendation"
        return found, Note("True", "ScaleUpStabilized", message)
    message = "recent recommendations were higher than current one, applying the highest recent recommendation"
    return found, Note("True", "ScaleDownStabilized", message)


def limit(
    hpa: HorizontalPodAutoscaler, history: ScaleHistory, current: int, desired: int, now: datetime
) -> tuple[int, Note]:
    """Return the replicas limited by policies, minimum and maximum, and the condition."""
    up, down = rules_of(hpa)
    least = 1 if hpa.spec.min_replicas is None else hpa.spec.min_replicas
    if desired > current:
        most = hpa.spec.max_replicas
        note = Note("True", "TooManyReplicas", "the desired replica count is more than the maximum replica count")
        allowed = max(current, scale_up_limit(current, history, up, now))
        if most > allowed:
            message = "the desired replica count is increasing faster than the maximum scale rate"
            most, note = allowed, Note("True", "ScaleUpLimit", message)
        if desired > most:
            return most, note
    elif desired < current:
        note = Note("True", "TooFewReplicas", "the desired replica count is less than the minimum replica count")
        allowed = min(current, scale_down_limit(current, history, down, now))
        if least < allowed:
            message = "the desired replica count is decreasing faster than the maximum scale rate"
            least, note = allowed, Note("True", "ScaleDownLimit", message)
        if desired < least:
            return least, note
    return desired, Note("False", "DesiredWithinRange", "the desired count is within the acceptable range")


def _since(events: Sequence[ScaleEvent], seconds: int, now: datetime) -> int:
    """Return the number of replicas changed within a policy's period. Source: getReplicasChangePerPeriod."""
    return sum(event.replicas for event in events if (now - event.at).total_seconds() < seconds)


def _start(current: int, history: ScaleHistory, period: int, now: datetime) -> int:
    """Return the replicas at the beginning of a policy's period."""
    return current - _since(history.up, period, now) + _since(history.down, period, now)


def scale_up_limit(current: int, history: ScaleHistory, rules: HPAScalingRules, now: datetime) -> int:
    """Return the maximum of replicas that the policies allow now."""
    if rules.select_policy == "Disabled":
        return current
    limits = []
    for policy in rules.policies or ():
        start = _start(current, history, policy.period_seconds, now)
        grown = start + policy.value if policy.type == "Pods" else math.ceil(start * (1 + policy.value / 100))
        limits.append(grown)
    return min(limits) if rules.select_policy == "Min" else max(limits)


def scale_down_limit(current: int, history: ScaleHistory, rules: HPAScalingRules, now: datetime) -> int:
    """Return the minimum of replicas that the policies allow now."""
    if rules.select_policy == "Disabled":
        return current
    limits = []
    for policy in rules.policies or ():
        start = _start(current, history, policy.period_seconds, now)
        # Truncated as by Go's int32(), while scaling up rounds up.
        shrunk = start - policy.value if policy.type == "Pods" else int(start * (1 - policy.value / 100))
        limits.append(shrunk)
    # "Min" is the smallest change, so the largest number of replicas.
    return max(limits) if rules.select_policy == "Min" else min(limits)


def note_scaling(hpa: HorizontalPodAutoscaler, history: ScaleHistory, before: int, after: int, now: datetime) -> None:
    """Record a change of the scale for the policies. Source: storeScaleEvent."""
    up, down = rules_of(hpa)
    for events, rules, change in ((history.up, up, after - before), (history.down, down, before - after)):
        longest = max((policy.period_seconds for policy in rules.policies or ()), default=0)
        events[:] = [event for event in events if (now - event.at).total_seconds() < longest]
        if change > 0:
            events.append(ScaleEvent(now, change))
