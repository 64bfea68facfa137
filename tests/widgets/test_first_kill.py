"""The first scene as a widget: a guess, the kill that the start page shows too, and the points that explain it."""

import pytest

from kitlib.advisor import first_kill as story
from kitlib.cluster import Cluster
from kitlib.widgets import FirstKill

BAR = "node-1"


def pick(shown, pod):
    shown.board.act("pick", id=pod, box=BAR)


def test_nothing_is_given_away_before_the_guess():
    shown = FirstKill()
    assert "killed" not in shown.sentence and shown.killed == ""
    assert all(token["state"] == "" for token in shown.board.box(BAR)["tokens"])
    assert shown.run.disabled and len(shown.board.frames) == 1
    assert "points" not in shown._table.value and "badness" not in shown._table.value


@pytest.mark.parametrize(("guess", "said"), [("db", "your guess was db"), ("cache", "as you guessed")])
def test_the_kernel_kills_whom_the_start_page_shows_and_the_points_say_why(guess, said):
    with Cluster.simulated([dict(story.NODE)]) as cluster:
        outcome = story.run(cluster)
    shown = FirstKill()
    pick(shown, guess)
    assert shown.board.token(guess)["state"] == "chosen"
    shown.run.click()
    assert shown.problem == ""
    assert shown.killed == outcome.killed == "cache"
    assert shown.sentence.startswith(f"The kernel killed cache, {said}.")
    assert shown.board.token("cache")["state"] == "dead"
    ranked = shown.frame()
    assert list(ranked["name"]) == [rank.name for rank in outcome.ranking]
    assert ranked["badness"].is_monotonic_decreasing
    for sentence in story.why(outcome, guess):
        assert sentence.partition(":")[0] in shown._why.value
    assert f"{outcome.ranking[0].points:,} MiB" in shown._why.value


def test_the_bars_are_to_scale_and_the_room_for_pods_ends_where_its_memory_does():
    shown = FirstKill()
    pick(shown, "web")
    shown.run.click()
    quiet, too_much, _, gone = (frame["areas"][0]["boxes"][0] for frame in shown.board.frames)
    assert sum(token["size"] for token in too_much["tokens"]) == pytest.approx(1)
    wanted = sum(pod.wants or pod.uses for pod in story.PODS)
    assert too_much["marks"][-1]["at"] == pytest.approx(story.CAPACITY / wanted)
    assert quiet["marks"][-1]["at"] == gone["marks"][-1]["at"] == 1
    assert "cache" not in {token["id"] for token in gone["tokens"]}


def test_it_can_be_played_once_more():
    shown = FirstKill()
    pick(shown, "db")
    shown.run.click()
    shown.again.click()
    assert (shown.killed, shown.guess, len(shown.board.frames)) == ("", "", 1)
    pick(shown, "log")
    shown.run.click()
    assert shown.killed == "cache"
