"""Dividing an amount by weight, where nobody gets more than wanted."""

from __future__ import annotations

from collections.abc import Sequence

TASK_WEIGHT = 1024.0
IDLE_WEIGHT = 3.0  # of a cgroup whose cpu.idle is 1: kernel/sched/sched.h WEIGHT_IDLEPRIO
EPSILON = 1e-9


def task_weight(want: float) -> float:
    """That of a process that would like to use so many CPUs: each of its threads has the weight of one task."""
    return TASK_WEIGHT * (want if want > 1.0 else 1.0)


def water_fill(wishes: Sequence[tuple[float, float]], amount: float) -> list[float]:
    """Divide by weight; nobody gets more than wanted, and what is left over is divided again.

    Args:
        wishes: (weight, wanted) of each.
        amount: what there is.

    Returns:
        What each gets; the sum is `amount`, or all that was wanted.
    """
    if sum(want for _, want in wishes) <= amount + EPSILON:
        return [want for _, want in wishes]
    level = water_level([weight for weight, _ in wishes], [want for _, want in wishes], amount)
    return [min(want, weight * level) for weight, want in wishes]


def water_level(weights: Sequence[float], wants: Sequence[float], amount: float) -> float:
    """The level at which Σ min(want, weight · level) is the amount, where that is less than all want together.

    A member that wants no more than an equal level would give is satisfied and leaves more to the others; after a few
    rounds no further one is.
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
