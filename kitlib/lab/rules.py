"""A lab's rules: forbidden actions, and states that must never occur.

A lab lists the objects and fields that may change (`[opens]`, see `kitlib.lab.guard`); this list is judged as one more
rule. The other rules are declared in lab.toml, and judged over all changes since the learner began (`History`) and all
of the learner's actions (the journal). A broken rule is named and takes the points of the tasks that it guards.

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

from kitlib.lab.checks import NeverFunction
from kitlib.lab.guard import TITLE, LabGuard, Opens, RefusedChange
from kitlib.lab.history import History


class RuleSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A rule of lab.toml; the module's docstring shows the kinds.

    Attributes:
        key: the rule's name.
        title: the sentence that the learner reads.
        hint: the next step after the rule was broken.
        forbidden: actions of the journal, with kind and name pattern if the action has them.
        never: whether a function of check.py detects a violation.
        tasks: keys of the tasks that the rule guards; () = all.
    """

    key: str
    title: str
    hint: str = ""
    forbidden: tuple[str, ...] = ()
    never: bool = False
    tasks: tuple[str, ...] = ()

    def guards(self, task: str) -> bool:
        """Return whether a task gives no points if this rule is broken."""
        return not self.tasks or task in self.tasks


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a rule was kept.

    Attributes:
        rule: the rule's key.
        title: the rule's sentence.
        hint: the rule's hint.
        tasks: keys of the guarded tasks; () = all.
        found: the violation; "" = the rule was kept.
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
        """Return whether a task gives no points if this rule is broken."""
        return not self.tasks or task in self.tasks

    def __str__(self) -> str:
        return f"✓ {self.title}" if self.kept else f"✗ {self.title}: {self.found}"


def judge(
    rules: Iterable[RuleSpec],
    history: History,
    journal: Iterable[Mapping[str, Any]],
    never: Mapping[str, NeverFunction],
    opens: Opens | None = None,
    about: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[RuleResult, ...]:
    """Judge every rule.

    Args:
        rules: rules of the lab.
        history: changes since the learner began.
        journal: the learner's actions.
        never: the functions of check.py, by the rule's key.
        opens: objects and fields that may change; None = no object is compared with the setup.
        about: task -> `KIND NAME` of the objects that it is about.
    """
    done = list(journal)
    judged = [
        RuleResult(rule=rule.key, title=rule.title, hint=rule.hint, tasks=rule.tasks, found=found)
        for rule in rules
        for found in [_broken(rule, history, done, never)]
    ]
    if opens is not None:
        refused = [*LabGuard(opens, history, done).refused()]
        tasks_of = {one: [task for task, names in (about or {}).items() if one.within in names] for one in refused}
        for_all = [one for one in refused if not tasks_of[one]]
        shown = next(iter(for_all or refused), RefusedChange("", ""))
        touched = () if for_all else tuple(task for tasks in tasks_of.values() for task in tasks)
        judged.append(RuleResult(rule="opens", title=TITLE, hint=shown.hint, found=shown.found, tasks=touched))
    return tuple(judged)


def _broken(
    rule: RuleSpec, history: History, journal: list[Mapping[str, Any]], never: Mapping[str, NeverFunction]
) -> str:
    for what in rule.forbidden:
        if found := _done(what, journal, history):
            return found
    if rule.never:
        for moment in history.moments():
            if moment.change is not None and (found := never[rule.key](moment)):
                return f"{found} (after {moment.seconds:.0f} s)"
    return ""


def _done(what: str, journal: list[Mapping[str, Any]], history: History) -> str:
    """Return the first entry of the journal that matches the action; "" = none."""
    action, kind, name = [*what.split(), "*", "*"][:3]
    for entry in journal:
        if entry["action"] != action:
            continue
        for one_kind, one_name in _objects(entry):
            if kind in ("*", history.kind(one_kind)) and fnmatchcase(one_name, name):
                return " ".join(filter(None, (action, one_kind, one_name, "was done by hand")))
    return ""


def _objects(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return kind and name of the objects of a journal entry."""
    if "objects" in entry:
        return [(str(one.get("kind")), str((one.get("metadata") or {}).get("name"))) for one in entry["objects"]]
    return [(str(entry.get("kind", "") or "Pod"), str(entry.get("name", entry.get("pod", ""))))]
