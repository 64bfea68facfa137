"""RE2's syntax in linear time, with google-re2 and without it."""

from __future__ import annotations

import random
import time

import pytest

from kitlib.cel.re2 import PatternError, _Program, compiled

CASES = [
    ("^A1.*$", "A100", True),
    ("^A1.*$", "B100", False),
    ("a|b|", "", True),
    ("(a|b)*c$", "ababc", True),
    ("x{2,3}y", "xy", False),
    ("x{2,3}y", "xxxxy", True),
    ("[^0-9]", "0123", False),
    ("[a-c]+[^a-c]", "abcd", True),
    (r"\bfoo\b", "a foo b", True),
    (r"\bfoo\b", "afoob", False),
    (r"\d+\.\d+", "v1.25", True),
    (r"\w\W\s", "a- ", True),
    ("(?i)tesla", "TESLA", True),
    ("(?s)a.b", "a\nb", True),
    ("a.b", "a\nb", False),
    ("(?m)^b$", "a\nb\nc", True),
    ("^$", "", True),
    ("a+?b*?", "a", True),
    ("(?:ab)+", "aabb", True),
    ("(?P<name>x)", "x", True),
    ("é", "café", True),
]
REFUSED = ["(", "a**b[", "(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", "a{2,1}", "a{1001}", "[z-a]", "*a", r"\Z"]


@pytest.mark.parametrize("search", [compiled, lambda p: _Program(p).search], ids=["installed", "own"])
@pytest.mark.parametrize(("pattern", "text", "found"), CASES)
def test_patterns_match_as_in_re2(pattern: str, text: str, found: bool, search) -> None:  # type: ignore[no-untyped-def]
    assert search(pattern)(text) is found


@pytest.mark.parametrize("search", [compiled, _Program], ids=["installed", "own"])
@pytest.mark.parametrize("pattern", REFUSED)
def test_what_re2_does_not_have_is_refused(pattern: str, search) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PatternError):
        search(pattern)


@pytest.mark.speed
@pytest.mark.parametrize("search", [compiled, lambda p: _Program(p).search], ids=["installed", "own"])
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){20}", "((a?){50})a{50}b"])
def test_time_is_linear_in_the_text(pattern: str, search) -> None:  # type: ignore[no-untyped-def]
    matches = search(pattern)
    began = time.process_time()
    matches("a" * 300 + "!")
    assert time.process_time() - began < 2


def test_both_engines_answer_alike() -> None:
    pytest.importorskip("re2")
    choose = random.Random(7)
    pieces = ["a", "b", ".", "[ab]", "[^a]", "a*", "b+", "(a|b)", "(ab)?", "^", "$", r"\b", "a{1,2}", "|", r"\w"]
    for _ in range(2000):
        pattern = "".join(choose.choice(pieces) for _ in range(choose.randint(1, 6)))
        text = "".join(choose.choice("ab c\n") for _ in range(choose.randint(0, 8)))
        try:
            expected = compiled(pattern)(text)
        except PatternError:
            with pytest.raises(PatternError):
                _Program(pattern)
            continue
        assert _Program(pattern).search(text) is expected, (pattern, text)
