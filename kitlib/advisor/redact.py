"""Replaces names, so that an explanation can be shown to outsiders: `node-3`, `pod-17`, `namespace-2`.

A name is always replaced by the same word. Label keys of Kubernetes itself, resources and amounts are kept, and also
names of one or two letters, which reveal nothing and could be words of a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from kitlib.api.core import Node, Pod
from kitlib.api.meta import KubeObject

_PLAIN = ("true", "false", "linux", "amd64", "arm64")
_TOKEN = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
_WORD = re.compile(r"[\w.-]+")
_KEPT = ("kubernetes.io", "k8s.io")


class Redactor:
    """Replaces names of nodes, pods, namespaces and labels in texts.

    Args:
        objects: the objects with the names to replace.
    """

    def __init__(self, objects: Iterable[KubeObject]) -> None:
        self._words: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        for obj in objects:
            kind = obj.kind.lower()
            self._add(kind, obj.name)
            if obj.namespace not in ("", "default", "kube-system"):
                self._add("namespace", obj.namespace)
            for key, value in obj.metadata.labels.items():
                self._label(key, value)
            if isinstance(obj, Node):
                if obj.name in self._words:  # the name of a proposed node
                    self._words[f"{obj.name}-more"] = f"{self._words[obj.name]}-more"
                for taint in obj.spec.taints:
                    self._label(taint.key, taint.value)
            elif isinstance(obj, Pod):
                for key, value in obj.spec.node_selector.items():
                    self._label(key, value)

    def _label(self, key: str, value: str) -> None:
        if not key.split("/")[0].endswith(_KEPT):
            self._add("key", key)
        self._add("value", value)

    def _add(self, kind: str, name: str) -> None:
        if len(name) > 2 and name not in self._words and not name.isdigit() and name not in _PLAIN:
            self._numbers[kind] += 1
            self._words[name] = f"{kind}-{self._numbers[kind]}"

    def text(self, text: str) -> str:
        """Return the text with its names replaced."""
        return _TOKEN.sub(lambda found: self._hidden(found[0]), text)

    def original(self, text: str) -> str:
        """Return a text with the words of redacted answers replaced by the names."""
        names = {word: name for name, word in self._words.items()}
        return _WORD.sub(lambda found: names.get(found[0], found[0]), text)

    def _hidden(self, token: str) -> str:
        """Replace the longest known name at the start of a token, and names after a slash."""
        ends = [i for i, char in enumerate(token) if char in "./"]
        for end in (len(token), *reversed(ends)):
            if token[:end] in self._words:
                head, rest = self._words[token[:end]], token[end:]
                break
        else:
            head, rest = "", token
        plain, slash, more = rest.partition("/")
        return head + plain + slash + (self._hidden(more) if more else "")
