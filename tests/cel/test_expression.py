"""Evaluations: their cost belongs to each one, also when several run at once or share a budget."""

from __future__ import annotations

import threading

import pytest

from kitlib.cel.expression import Expression, compile_expression
from kitlib.cel.library import Budget, EvaluationError, charge

EXCEEDED = "operation cancelled: actual cost limit exceeded"


def expression(text: str, **names: str) -> Expression:
    return compile_expression(text, names, max_length=4096)


def test_an_evaluation_costs_its_own_and_a_shared_budget_adds_up():
    same = expression("a == a", a="dyn")
    names = {"a": [0] * 9}
    assert same.evaluate(names, 10) is True
    assert same.evaluate(names, 10) is True
    with pytest.raises(EvaluationError, match=EXCEEDED):
        same.evaluate(names, 9)
    shared = Budget(15)
    assert same.evaluate(names, shared) is True
    assert shared.left == 5
    with pytest.raises(EvaluationError, match=EXCEEDED):
        same.evaluate(names, shared)


def test_an_evaluation_within_another_leaves_the_outer_ones_budget_alone():
    inner, outer = expression("a == a", a="dyn"), Budget(100)

    class Lazy(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            inner.evaluate({"a": [0] * 9}, 10)
            return [0] * 4

    lazy = Lazy(x=None)
    assert expression("m.x == [0, 0, 0, 0]", m="dyn").evaluate({"m": lazy}, outer) is True
    assert outer.left > 80


def test_evaluations_in_two_threads_never_share_a_budget():
    """Both are in the middle of their evaluation at once; each may cost its whole budget."""
    both = threading.Barrier(2, timeout=30)
    answers: list[object] = []

    class Meeting:
        def __eq__(self, other: object) -> bool:
            both.wait()
            charge(60)
            both.wait()
            return True

        __hash__ = None  # type: ignore[assignment]

    def evaluate() -> None:
        try:
            answers.append(expression("a == b", a="dyn", b="dyn").evaluate({"a": [Meeting()], "b": [Meeting()]}, 100))
        except EvaluationError as error:
            answers.append(str(error))

    threads = [threading.Thread(target=evaluate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True, True]
