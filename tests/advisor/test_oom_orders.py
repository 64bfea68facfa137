"""Both orders of the OOM killer: by the scores that processes have, and by those that the kubelet wants."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.advisor.oom_orders import oom_orders


def row(name: str, badness: int, wanted: int | None = None) -> dict[str, Any]:
    refused = {} if wanted is None else {"refused": -997, "wanted_badness": wanted}
    return {"name": name, "badness": badness, **refused}


@pytest.mark.parametrize(
    ("rows", "differ", "said"),
    [
        ([row("a", 3), row("b", 2)], False, ""),
        ([row("a", 3), row("b", 2, -7)], False, "With the scores that the kubelet wants the order would be the same."),
        (
            [row("net", 3, -7), row("honest", 2)],
            True,
            "With the scores that the kubelet wants the order would be honest, net; here it is net, honest: "
            "honest would be killed first, and here it is net.",
        ),
        (
            [row("free", 9), row("sure", 3, -7), row("honest", 2)],
            True,
            "With the scores that the kubelet wants the order would be free, honest, sure; here it is free, sure, "
            "honest: free is still the first.",
        ),
    ],
)
def test_the_orders_are_compared(rows: list[dict[str, Any]], differ: bool, said: str) -> None:
    found = oom_orders(rows)
    assert (found.differ, found.sentence) == (differ, said)
