"""The room's vote: hidden, shown, a second time, kept; and those who vote too often."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.workshop.votes import RoomQuestion, Votes

CHOICE = RoomQuestion("03-sidecar-oom", "who", "What is killed?", ("a process", "the pod"))
NUMBER = RoomQuestion("12-the-schedulers-pipeline", "left", "How many?", unit="nodes")


@pytest.fixture
def votes(tmp_path: Path) -> Votes:
    return Votes(tmp_path / "votes.jsonl", places=30)


def test_a_result_is_hidden_then_shown_and_both_rounds_are_kept(votes: Votes) -> None:
    votes.open(CHOICE)
    for voter in range(20):
        votes.cast(str(voter), "a process")
    for voter in range(20, 30):
        votes.cast(str(voter), "the pod")
    assert votes.state("3")["rounds"] == [] and votes.state("3")["mine"] == "a process" and votes.state()["count"] == 30
    votes.show()
    first = [("a process", 20), ("the pod", 10)]
    assert votes.state()["rounds"] == [first]
    with pytest.raises(KitError, match="voting in this round has ended"):
        votes.cast("0", "the pod")
    votes.again()
    assert votes.state()["rounds"] == [first] and votes.state("3")["mine"] is None
    for voter in range(30):
        votes.cast(str(voter), "the pod")
    votes.show()
    assert votes.state(trainer=True)["rounds"] == [first, [("a process", 0), ("the pod", 30)]]
    assert votes.state(trainer=True)["changed"] == 20
    with pytest.raises(KitError, match="a question has at most 2 rounds"):
        votes.again()
    votes.close()
    assert votes.state() == {"round": 0}
    (kept,) = map(json.loads, votes.file.read_text().splitlines())
    assert (kept["place"], kept["key"], kept["changed"]) == ("03-sidecar-oom", "who", 20)
    assert kept["rounds"] == [{"a process": 20, "the pod": 10}, {"the pod": 30}]


def test_another_question_keeps_the_one_before(votes: Votes) -> None:
    votes.open(CHOICE)
    votes.cast("1", "the pod")
    votes.open(NUMBER)
    assert json.loads(votes.file.read_text())["rounds"] == [{"the pod": 1}]
    assert votes.state("1")["mine"] is None


def test_numbers_are_ordered_by_size(votes: Votes) -> None:
    votes.open(NUMBER)
    for voter, answer in enumerate(["10", "2", "2,5", 10, " 2 "]):
        votes.cast(str(voter), answer)
    votes.show()
    assert votes.state()["rounds"] == [[("2", 2), ("2.5", 1), ("10", 2)]]


@pytest.mark.parametrize("answer", ["", None, "x", "nan", "inf", [], {}, "1e999"])
def test_what_is_no_number_is_refused(votes: Votes, answer: object) -> None:
    votes.open(NUMBER)
    with pytest.raises(KitError, match="must be a number"):
        votes.cast("1", answer)


@pytest.mark.parametrize("answer", ["", None, "The pod", ["the pod"], 1])
def test_what_is_no_choice_is_refused(votes: Votes, answer: object) -> None:
    votes.open(CHOICE)
    with pytest.raises(KitError, match="valid values: a process, the pod"):
        votes.cast("1", answer)


def test_without_a_question_there_is_no_vote(votes: Votes) -> None:
    for step in (votes.show, votes.again, lambda: votes.cast("1", "x")):
        with pytest.raises(KitError, match="no question is open"):
            step()


def test_a_browser_counts_once_and_a_room_has_places(votes: Votes) -> None:
    votes.open(CHOICE)
    for _ in range(1000):
        votes.cast("1", "the pod")
    assert votes.state()["count"] == 1
    for voter in range(2, 61):
        votes.cast(str(voter), "the pod")
    with pytest.raises(KitError, match="60 browsers have voted, but the room has 30 places"):
        votes.cast("61", "the pod")
    votes.cast("1", "a process")  # who has voted may still change it


def test_a_cheat_who_deletes_cookies_takes_no_learners_place_and_does_not_count(votes: Votes) -> None:
    """Thirty learners and a cheat are behind one address."""
    votes.open(CHOICE)
    for _ in range(60):
        votes.cast(votes.voter(votes.new_voter("10.0.0.1")), "a process")
    learners = [votes.voter_of(f"learner-{number}") for number in range(30)]
    for _ in range(2):  # from laptop and phone
        for learner in learners:
            votes.cast(learner, "the pod")
    told = votes.state(learners[0], trainer=True)
    assert (told["count"], told["browsers"], told["mine"]) == (90, 60, "the pod")
    votes.require_accounts()
    browser = votes.voter(votes.new_voter("10.0.0.2"))
    with pytest.raises(KitError, match="you must be logged in to vote"):
        votes.cast(browser, "a process")
    assert votes.state(browser)["login"] and not votes.state(learners[0])["login"]
    votes.show()
    assert votes.state()["rounds"] == [[("a process", 0), ("the pod", 30)]]


def test_an_accounts_voter_tells_no_name_and_no_mark_makes_one(votes: Votes) -> None:
    assert votes.voter_of("ada") == votes.voter_of("ada") != votes.voter_of("bob")
    assert "grace" not in votes.voter_of("grace"), "a seal has hexadecimal digits only, and may spell ada"
    assert votes.voter(votes.voter_of("ada")) == "" == votes.voter(f"@ada.{votes.voter_of('ada')[1:]}x")


def test_an_address_brings_no_more_new_voters_than_fit_and_marks_cannot_be_made_up(votes: Votes) -> None:
    marks = [votes.new_voter("10.0.0.1") for _ in range(60)]
    assert len({votes.voter(mark) for mark in marks} - {""}) == 60
    with pytest.raises(KitError, match="too many new voters from this address"):
        votes.new_voter("10.0.0.1")
    assert votes.voter(votes.new_voter("10.0.0.2"))
    name, _, seal = marks[0].partition(".")
    for forged in ("", ".", name, f"{name}.", f"x.{seal}", f"{name}.{seal[:-1]}x", "ä.ö"):
        assert votes.voter(forged) == ""
    assert Votes(votes.file, 30).voter(marks[0]) == "", "another room's mark"


def test_votes_that_cannot_be_kept_are_named_and_go_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    votes = Votes(tmp_path / "file" / "votes.jsonl", 30)
    votes.open(CHOICE)
    with pytest.raises(KitError, match=r"votes\.jsonl"):
        votes.close()
    assert votes.state()["round"] == 1
