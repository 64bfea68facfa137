"""A guard contains the exceptions of one object and logs each once with its traceback."""

from __future__ import annotations

import logging

import pytest

from kitlib.api.guard import Guard, described


def fail() -> None:
    raise ValueError("broken")


def test_work_that_raises_nothing_marks_nothing() -> None:
    failed: list[str] = []
    done: list[str] = []
    guard = Guard[str]("loop", lambda about, error: failed.append(about))
    assert guard.run("a", lambda: done.append("a")) is True
    assert (done, failed) == (["a"], [])


def test_an_exception_marks_its_object_and_work_continues(caplog: pytest.LogCaptureFixture) -> None:
    failed: list[tuple[str, str]] = []
    guard = Guard[str]("kubelet n", lambda about, error: failed.append((about, str(error))))
    with caplog.at_level(logging.INFO):
        assert guard.run("a", fail) is False
        assert guard.run("a", fail) is False
        assert guard.run("b", fail) is False
    assert failed == [("a", "broken"), ("a", "broken"), ("b", "broken")]
    levels = [(record.levelname, record.exc_info is not None) for record in caplog.records]
    assert levels == [("ERROR", True), ("INFO", False), ("ERROR", True)]
    assert caplog.messages[0] == "kubelet n: a: ValueError: broken"


def test_an_object_that_cannot_be_marked_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    def mark(about: str, error: Exception) -> None:
        raise KeyError("status")

    with caplog.at_level(logging.INFO):
        assert Guard[str]("loop", mark).run("a", fail) is False
    assert caplog.messages == ["loop: a: ValueError: broken", "loop: a: cannot be marked failed: KeyError: 'status'"]


def test_the_end_of_the_process_is_not_contained() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Guard[str]("loop", lambda about, error: None).run("a", interrupt)


def test_the_memory_of_logged_texts_is_limited(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard[int]("loop", lambda about, error: None)
    with caplog.at_level(logging.ERROR):
        for i in range(1000):
            guard.caught(i, ValueError("x"))
        guard.caught(1000, ValueError("x"))  # forgets the texts before it
        guard.caught(0, ValueError("x"))
        guard.caught(0, ValueError("x"))
    assert len(caplog.records) == 1002


@pytest.mark.parametrize(("length", "kept"), [(488, 488), (489, 488), (10_000, 488)])
def test_a_described_error_has_at_most_500_characters(length: int, kept: int) -> None:
    assert described(ValueError("x" * length)) == "ValueError: " + "x" * kept
