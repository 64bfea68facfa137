"""A lab's rules: what must not be done, and what must never happen.

What stays as it is needs no rule: a lab opens what may change (`[opens]`, see `kitlib.lab.guard`), and that is judged
here as one rule more. The others are declared in lab.toml, and judged over everything that happened since the learner
began (`History`) and everything that the learner did (the journal). A broken rule takes the points of the tasks that
it guards, and is named.

    [[rules]]
    key = "hands"
    title = "No pod is deleted by hand"
    forbidden = ["delete Pod batch-*", "write"]             # actions of the journal

    [[rules]]
    key = "budget"
    title = "The budget is never exceeded"
    never = true                                            # the function of that key in check.py, at every moment
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from kitlib.api.errors import KitError
from kitlib.apiserver.store.kinds import resource
from kitlib.lab.checks import NeverFunction
from kitlib.lab.guard import TITLE, LabGuard, Opens
from kitlib.lab.history import History


class RuleSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One rule of lab.toml; the module's docstring shows the kinds.

    Attributes:
        key, title: its name, and the sentence that the learner reads.
        hint: the next step after it was broken.
        forbidden: actions of the journal, with a kind and a name's pattern where the action has them.
        never: check.py says what must never be.
        tasks: keys of the tasks that it guards; () = all.
    """

    key: str
    title: str
    hint: str = ""
    forbidden: tuple[str, ...] = ()
    never: bool = False
    tasks: tuple[str, ...] = ()

    def guards(self, task: str) -> bool:
        """Whether a task gives no point where this rule is broken."""
        return not self.tasks or task in self.tasks


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a rule was kept.

    Attributes:
        rule, title, hint, tasks: of the rule.
        found: what broke it; "" where it was kept.
    """

    rule: str
    title: str
    found: str = ""
    hint: str = ""
    tasks: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether nothing broke it."""
        return not self.found

    def guards(self, task: str) -> bool:
        """Whether a task gives no point where this rule is broken."""
        return not self.tasks or task in self.tasks

    def __str__(self) -> str:
        return f"✓ {self.title}" if self.kept else f"✗ {self.title}: {self.found}"


def judge(
    rules: Iterable[RuleSpec],
    history: History,
    journal: Iterable[Mapping[str, Any]],
    never: Mapping[str, NeverFunction],
    opens: Opens | None = None,
) -> tuple[RuleResult, ...]:
    """Judge every rule.

    Args:
        rules: of the lab.
        history: since the learner began.
        journal: what the learner did.
        never: the functions of check.py, by the rule's key.
        opens: of the lab; None = no object is compared with the setup.
    """
    done = list(journal)
    judged = [
        RuleResult(rule=rule.key, title=rule.title, hint=rule.hint, tasks=rule.tasks, found=found)
        for rule in rules
        for found in [_broken(rule, history, done, never)]
    ]
    if opens is not None:
        found, hint = LabGuard(opens, history, done).broken()
        judged.append(RuleResult(rule="opens", title=TITLE, hint=hint, found=found))
    return tuple(judged)


def _broken(
    rule: RuleSpec, history: History, journal: list[Mapping[str, Any]], never: Mapping[str, NeverFunction]
) -> str:
    for what in rule.forbidden:
        if found := _done(what, journal):
            return found
    if rule.never:
        for moment in history.moments():
            if moment.change is not None and (found := never[rule.key](moment)):
                return f"{found} (after {moment.seconds:.0f} s)"
    return ""


def _done(what: str, journal: list[Mapping[str, Any]]) -> str:
    """The first entry of the journal that is the action; "" = none."""
    action, kind, name = [*what.split(), "*", "*"][:3]
    for entry in journal:
        if entry["action"] != action:
            continue
        for one_kind, one_name in _objects(entry):
            if kind in ("*", _kind(one_kind)) and fnmatchcase(one_name, name):
                return " ".join(filter(None, (action, one_kind, one_name, "was done by hand")))
    return ""


def _objects(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Kind and name of what an entry of the journal is about."""
    if "objects" in entry:
        return [(str(one.get("kind")), str((one.get("metadata") or {}).get("name"))) for one in entry["objects"]]
    return [(str(entry.get("kind", "") or "Pod"), str(entry.get("name", entry.get("pod", ""))))]


def _kind(name: str) -> str:
    """The kind that `po`, `pods` or `Pod` names."""
    try:
        return resource(name).kind
    except KitError:
        return name
