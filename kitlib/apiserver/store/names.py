"""UIDs and random suffixes of generated names.

Source: k8s.io/apimachinery pkg/util/uuid, pkg/util/rand; apiserver names.SimpleNameGenerator.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
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
        self._given: dict[str, list[str]] | None = None
        self._next: Counter[str] = Counter()

    def new_uid(self) -> str:
        """Return a UID."""
        return self._one("uids", lambda: str(uuid.UUID(int=self.random.getrandbits(128), version=4)))

    def new_suffix(self) -> str:
        """Return the five random characters at the end of a generated name."""
        return self._one("suffixes", lambda: "".join(self.random.choices(SUFFIX_ALPHABET, k=5)))

    def _one(self, sort: str, make: Callable[[], str]) -> str:
        if self._given is None:
            return make()
        given = self._given.setdefault(sort, [])
        if self._next[sort] == len(given):
            given.append(make())
        self._next[sort] += 1
        return given[self._next[sort] - 1]

    @contextmanager
    def repeating(self, given: dict[str, list[str]]) -> Iterator[None]:
        """Return the names of an earlier attempt again, in order; the store skips those of objects that it stored.

        UIDs and suffixes have orders of their own, because another attempt may need more or fewer of one sort.

        Args:
            given: the names returned so far, by their sort; new ones are appended.
        """
        before = self._given, self._next
        self._given, self._next = given, Counter()
        try:
            yield
        finally:
            self._given, self._next = before
