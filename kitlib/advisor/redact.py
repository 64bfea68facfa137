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
from kitlib.api.podresources import containers_of

_PLAIN = ("true", "false", "linux", "amd64", "arm64")
_TOKEN = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
_WORD = re.compile(r"[\w.-]+")
_BUILT_IN = ("default-scheduler", "system-")
_KEPT = ("kubernetes.io", "k8s.io")


_UNSEEN = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
"""Control characters except tab and line feed, and those that change the direction of text."""


def visible(text: str) -> str:
    """Return a text in which names and messages of a cluster cannot control the terminal: `\\u001b` in place of ESC.

    The notation is that of JSON, so that JSON keeps its meaning.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
                self._references(obj)

    def _references(self, pod: Pod) -> None:
        """Add the names in a pod that messages quote although their objects were not read."""
        for owner in pod.metadata.owner_references:
            self._add(owner.kind.lower(), owner.name)
        for container in containers_of(pod):
            self._add("container", container.name)
            place, slash, last = container.image.rpartition("/")
            self._add("image", f"{place}{slash}{re.split('[:@]', last)[0]}")
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                self._add("claim", volume.persistent_volume_claim.claim_name)
        for claim in pod.spec.resource_claims:
            self._add("claim", claim.resource_claim_name or "")
        for name in (pod.spec.priority_class_name, pod.spec.scheduler_name, pod.spec.runtime_class_name or ""):
            if not name.startswith(_BUILT_IN):
                self._add("class", name)

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
