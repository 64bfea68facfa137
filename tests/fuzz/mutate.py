"""Inputs that nobody meant: valid ones with something changed, from a seed, so that every run sees the same.

`KITLIB_FUZZ=100000` asks for so many at each boundary, `KITLIB_FUZZ_SEED=7` for others. Without, the quick boundaries
get 4,000 and the slow ones a part of that; `.ci/run nightly` gives 20,000 to all.
"""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_ASKED = os.environ.get("KITLIB_FUZZ", "")
INPUTS = int(_ASKED or "4000")
SEED = int(os.environ.get("KITLIB_FUZZ_SEED", "15"))
SECONDS, BYTES = 2.0, 200 << 20
"""What one input may take."""
TRACED = 500
"""Inputs near the start whose memory is traced, at most a twentieth: it makes everything five times slower."""

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31 - 1, 2**31, 2**63, -(2**63), 10**30, 0.0, -0.5, 1e308, 1e-308,
    "", " ", "0", "-1", "1e999999999", "9" * 5000, "NaN", "inf", "1_000", "0x10", "07", "1Ei", "1.5.5", "100m", "\x00",
    "\ud800", "é", "\u202e", "a" * 5000, "../../etc/passwd", "/dev/zero", "{{", "${HOME}", "%s%n", "(a+)+$", "[", "*",
    "true", "null", "~", "2026-01-01T00:00:00Z", "v1", "Pod", "=1+1", [], {}, [[]], [{}], {"": None}, [None], {"a": []},
    [1, "a", None], {"name": "x"}, {"a": {"b": {"c": {}}}},
)  # fmt: skip
NEAR = (
    "", "a", "web", "0", "1", "5", "0.5", "100m", "999", "64Mi", "10Gi", "1Ei", "1n", "1e3", "-1", "Always", "Never",
    "In", "NotIn", "Exists", "Gt", "NoSchedule", "NoExecute", "PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway",
    "80", "http", "kubernetes.io/hostname", "example.com/gpu", "hugepages-2Mi", "node-1", "default", "stress-ng",
    "--vm", "50%", "sleep", "infinity", "exit 3", "é",
)  # fmt: skip
"""Texts that some field takes."""
_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"[",
    b"{",
    b'"',
    b"\\",
    b"\n",
    b"\xed\xa0\x80",
    b"&a ",
    b"*a",
    b"!!python/name:os ",
    b"<<",
)


def part(of: int) -> int:
    """How many inputs a slow boundary gets: such a part of the others', unless a number for each was asked for."""
    return INPUTS if _ASKED else INPUTS // of


class Mutator:
    """Changes values and texts.

    Args:
        seed: of the random numbers.
    """

    def __init__(self, seed: int = SEED) -> None:
        self.random = random.Random(seed)

    def value(self, data: Any, changes: int = 0) -> Any:
        """A copy of plain data with one to three things changed in it."""
        made = _copied(data)
        for _ in range(changes or self.random.choice((1, 1, 1, 2, 3))):
            made = self._changed(made)
        return made

    def near(self, data: Any, changes: int = 0) -> Any:
        """A copy in which one or two values are others of their type, so that most of them are taken."""
        made = _copied(data)
        for _ in range(changes or self.random.choice((1, 2))):
            places = list(_places(made))
            texts = [one for holder, key in places if isinstance(one := holder[key], str)]
            holder, key = self.random.choice(places)
            holder[key] = self._like(holder[key], texts)
        return made

    def _like(self, value: Any, texts: list[str]) -> Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self.random.choice((0, 1, 2, -1, 7, 60, 100, 1000, 65535, 2**31 - 1))
        if isinstance(value, str):
            return self.random.choice((*texts, *NEAR))
        if isinstance(value, list):
            return self.random.choice(([], value * 2, value[::-1], value[:1]))
        if isinstance(value, dict):
            dropped = self.random.choice([*value, ""])
            return {name: _copied(one) for name, one in value.items() if name != dropped}
        return value

    def _changed(self, data: Any) -> Any:
        places = list(_places(data))
        if not places:
            return self.random.choice(ODD)
        holder, key = self.random.choice(places)
        what = self.random.random()
        if what < 0.6:
            holder[key] = _copied(self.random.choice(ODD))
        elif what < 0.7:
            del holder[key]
        elif what < 0.8 and isinstance(holder, dict):
            holder[str(self.random.choice(ODD))] = holder.pop(key)
        elif what < 0.85 and isinstance(holder, list):
            holder.extend(_copied(holder) * self.random.choice((1, 3)))
        elif what < 0.95:
            other_holder, other = self.random.choice(places)
            holder[key] = _copied(other_holder[other])
        else:
            text = str(holder[key]).encode("utf-8", "surrogatepass")
            holder[key] = self.text(text).decode("utf-8", "replace")
        return data

    def text(self, text: bytes) -> bytes:
        """A text with bytes changed, left out, repeated or put in."""
        made = bytearray(text)
        for _ in range(self.random.choice((1, 1, 2, 5))):
            at = self.random.randrange(len(made) + 1)
            what = self.random.random()
            if what < 0.3 and made:
                made[min(at, len(made) - 1)] = self.random.randrange(256)
            elif what < 0.5:
                made[at:at] = self.random.choice(_BYTES) * self.random.choice((1, 1, 2, 50))
            elif what < 0.7:
                del made[at : at + self.random.choice((1, 2, 10, 100))]
            elif what < 0.85:
                made[at:at] = made[at : at + self.random.choice((5, 50))]
            else:
                odd = self.random.choice(ODD)
                made[at:at] = str(odd).encode("utf-8", "surrogatepass")
        return bytes(made)


def _copied(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _copied(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_copied(value) for value in data]
    return data


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield data, key
            yield from _places(value)


def fuzz(
    make: Callable[[Mutator], Any],
    run: Callable[[Any], Any],
    allowed: type[Exception] | tuple[type[Exception], ...],
    inputs: int = INPUTS,
    seed: int = SEED,
) -> dict[str, float]:
    """Run inputs; each must end within its bounds, and raise nothing but what is allowed.

    Args:
        make: an input from a mutator.
        run: what takes it.
        allowed: errors that are right.

    Returns:
        inputs, refused, the slowest one's seconds, megabytes at the peak of the traced ones, and by which the process
        has grown over all of them.
    """
    mutator, slowest, refused, peak = Mutator(seed), 0.0, 0, 0
    before, traced = _resident(), min(TRACED, inputs // 20)
    try:
        for number in range(inputs):
            if number == traced:  # the first inputs import modules, whose memory is not an input's
                tracemalloc.start()
            if number == 2 * traced:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            one = make(mutator)
            began = time.process_time()
            try:
                run(one)
            except allowed:
                refused += 1
            except BaseException as error:
                raise AssertionError(f"input {number} of seed {seed}: {shown(one)}: {error!r}") from error
            took = time.process_time() - began
            slowest = max(slowest, took)
            assert took < SECONDS, f"input {number} of seed {seed} took {took:.1f} s: {shown(one)}"
    finally:
        tracemalloc.stop()
    grown = _resident() - before
    assert peak < BYTES and grown < BYTES, f"{peak} bytes at the peak, grown by {grown}"
    figures = {"inputs": inputs, "refused": refused, "slowest_s": round(slowest, 3)}
    return {**figures, "peak_mb": round(peak / 1e6, 1), "grown_mb": round(grown / 1e6, 1)}


def _resident() -> int:
    """The largest memory that this process has had, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def shown(value: Any) -> str:
    """An input, shortened."""
    text = repr(value)
    return text if len(text) < 2000 else f"{text[:1000]} … {text[-1000:]}"


def share(sequence: Sequence[Any], mutator: Mutator) -> Any:
    """One of several, at random."""
    return mutator.random.choice(sequence)


def words(texts: Sequence[str], mutator: Mutator) -> str:
    """A text with something changed in it; it may hold what UTF-8 cannot."""
    return mutator.text(share(texts, mutator).encode()).decode("utf-8", "surrogateescape")


def small(data: Any) -> Any:
    """With small numbers: a thousand pods and a week are right, and take their time."""
    if isinstance(data, dict):
        return {key: small(value) for key, value in data.items()}
    if isinstance(data, list):
        return [small(value) for value in data]
    return min(data, 20) if isinstance(data, int | float) and not isinstance(data, bool) else data
