"""The division of an amount by weight with an upper bound for each member."""

from __future__ import annotations

from collections.abc import Sequence

TASK_WEIGHT = 1024.0
IDLE_WEIGHT = 3.0  # of a cgroup whose cpu.idle is 1: kernel/sched/sched.h WEIGHT_IDLEPRIO
EPSILON = 1e-9


def task_weight(want: float) -> float:
    """Return the weight of a process by its demand in CPUs: each of its threads has the weight of one task."""
    return TASK_WEIGHT * (want if want > 1.0 else 1.0)


def water_fill(wishes: Sequence[tuple[float, float]], amount: float) -> list[float]:
    """Divide an amount by weight with an upper bound for each member; the rest is divided again.

    Args:
        wishes: (weight, upper bound) of each member.
        amount: the amount to divide.

    Returns:
        The members' parts; their sum is `amount`, or the sum of all bounds if that is less.
    """
    if sum(want for _, want in wishes) <= amount + EPSILON:
        return [want for _, want in wishes]
    level = water_level([weight for weight, _ in wishes], [want for _, want in wishes], amount)
    return [min(want, weight * level) for weight, want in wishes]


def water_level(weights: Sequence[float], wants: Sequence[float], amount: float) -> float:
    """Return the level at which Σ min(want, weight · level) equals an amount less than the sum of all wants.

    A member whose want is at most its part at the current level is satisfied and leaves more to the others; after a few
    rounds no further member is satisfied.
    """
    hungry, left = list(zip(weights, wants, strict=True)), amount
    while True:
        total = sum([weight for weight, _ in hungry])
        level = left / total if total else 0.0
        content = [want for weight, want in hungry if want <= weight * level]
        if not content or len(content) == len(hungry):
            return level
        left -= sum(content)
        hungry = [(weight, want) for weight, want in hungry if want > weight * level]
