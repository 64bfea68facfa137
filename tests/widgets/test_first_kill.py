"""The first scene: a guess, a kill by the simulated kernel, and the points that explain it."""

import pytest

from kitlib.widgets import FirstKill


def pick(shown, pod):
    shown.board.act("pick", id=f"{pod}/app", box=shown.node.name)


def test_nothing_is_given_away_before_the_guess():
    shown = FirstKill()
    assert "killed" not in shown.sentence and shown.killed == ""
    assert all(token["state"] == "" for token in shown.board.box(shown.node.name)["tokens"])
    assert shown.run.disabled and len(shown.board.frames) == 1
    assert "points" not in shown._table.value and "badness" not in shown._table.value


@pytest.mark.parametrize(("guess", "said"), [("batch", "your guess was batch"), ("log", "as you guessed")])
def test_the_kernel_kills_and_the_points_say_why(guess, said):
    shown = FirstKill()
    pick(shown, guess)
    assert shown.board.token(f"{guess}/app")["state"] == "chosen"
    shown.run.click()
    assert shown.problem == ""
    assert shown.killed == "log"  # BestEffort: 1000 × 262,144 / 1000 points on top of its pages
    assert shown.sentence.startswith(f"The kernel killed log, {said}.")
    assert shown.board.token("log/app")["state"] == "dead"
    ranked = shown.frame()
    assert ranked["name"].iloc[0] == "log/app"
    assert ranked["badness"].is_monotonic_decreasing
    assert f"{ranked['badness'][0]:,}" in shown._why.value


def test_the_bars_are_to_scale_and_the_machine_ends_where_its_memory_does():
    shown = FirstKill()
    pick(shown, "web")
    shown.run.click()
    too_much = shown.board.frames[1]["areas"][0]["boxes"][0]
    assert sum(token["size"] for token in too_much["tokens"]) == pytest.approx(1)
    used = sum(row["memory_bytes"] for row in shown._rows)
    assert too_much["marks"][-1]["at"] == pytest.approx(2**30 / used)


def test_it_can_be_played_once_more():
    shown = FirstKill()
    pick(shown, "db")
    shown.run.click()
    shown.again.click()
    assert (shown.killed, shown.guess, len(shown.board.frames)) == ("", "", 1)
