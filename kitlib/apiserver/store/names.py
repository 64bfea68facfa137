"""UIDs and random suffixes of generated names.

Source: k8s.io/apimachinery pkg/util/uuid, pkg/util/rand; apiserver names.SimpleNameGenerator.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Letters and digits of generated names: without vowels they form no words. Source: k8s.io/apimachinery util/rand."""


class Names:
    """The random names of one cluster; the same seed gives the same ones.

    Attributes:
        random: the generator; a failed transaction restores its state.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._given: list[str] | None = None
        self._next = 0

    def new_uid(self) -> str:
        """Return a UID that is not in use."""
        return self._one(lambda: str(uuid.UUID(int=self.random.getrandbits(128), version=4)))

    def new_suffix(self) -> str:
        """Return the five random characters at the end of a generated name."""
        return self._one(lambda: "".join(self.random.choices(SUFFIX_ALPHABET, k=5)))

    def _one(self, make: Callable[[], str]) -> str:
        if self._given is None:
            return make()
        if self._next == len(self._given):
            self._given.append(make())
        self._next += 1
        return self._given[self._next - 1]

    @contextmanager
    def repeating(self, given: list[str]) -> Iterator[None]:
        """Return the names of an earlier, failed attempt again, in order; none of its objects was stored.

        Args:
            given: the names returned so far; new ones are appended.
        """
        before = self._given, self._next
        self._given, self._next = given, 0
        try:
            yield
        finally:
            self._given, self._next = before
