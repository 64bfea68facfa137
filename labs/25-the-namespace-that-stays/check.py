"""The namespace goes after its content, each finalizer after its work, and what is to be kept is kept."""

import re

from kitlib.api.serialize import to_dict
from kitlib.lab import Checks, Experiment, Facts
from kitlib.lab.history import Moment

checks = Checks()


@checks.check("gone")
def gone(facts: Facts) -> None:
    v = facts.variant
    namespace = facts.find("Namespace", v.team, "")
    if namespace is None:
        return
    conditions = (namespace.status or {}).get("conditions") or []
    said = [one["message"] for one in conditions if one["status"] == "True"]
    facts.expect(
        namespace.metadata.deletion_timestamp is not None,
        found=f"the namespace {v.team} is Active",
        expected="the namespace gone",
        hint=f"delete it: kubectl delete namespace {v.team} --wait=false",
    )
    facts.expect(
        not said,
        found=f"{v.team} is Terminating. {' '.join(said)}",
        expected="the namespace gone",
        hint="who has to remove the finalizers that the message names?",
    )
    facts.expect(
        False,
        found=f"{v.team} is Terminating",
        expected="the namespace gone",
        hint="the namespace controller looks again after some seconds: lab.cluster.advance(20)",
    )


@checks.check("volumes")
def volumes(facts: Facts) -> None:
    v = facts.variant
    facts.expect(
        facts.find("PersistentVolume", f"{v.kept}-data", "") is not None,
        found=f"the volume {v.kept}-data is gone",
        expected=f"{v.kept}-data kept: its Dataset says Retain",
        hint="it cannot be brought back: lab.reset() starts again",
    )
    left = [one for one in (v.first, v.second) if facts.find("PersistentVolume", f"{one}-data", "") is not None]
    facts.expect(
        not left,
        found=f"the volume of {' and '.join(left)} is still there",
        expected="every volume gone that its Dataset does not keep",
        hint="spec.onDelete of the Dataset says what the operator would have done; without the field the default holds",
        credit=0.5 if len(left) == 1 else 0.0,
    )


def datasets(moment: Moment) -> list:
    """The Datasets of the start."""
    return [one for key, one in moment.first.items() if key[0] == "Dataset"]


def namespaces(moment: Moment) -> set[str]:
    """The namespaces at this moment."""
    return {key[2] for key in moment.objects if key[0] == "Namespace"}


@checks.never("order")
def order(moment: Moment) -> str:
    """A Dataset has lost its operator's finalizer, perhaps for another one, while its volume is there."""
    for one in datasets(moment):
        now = moment.get("Dataset", one.metadata.name, one.metadata.namespace)
        spec = to_dict(one)["spec"]
        released = now is None or not set(one.metadata.finalizers) <= set(now.metadata.finalizers)
        if released and spec["onDelete"] == "Delete" and moment.get("PersistentVolume", spec["volume"]) is not None:
            finalizer = one.metadata.finalizers[0]
            return f"Dataset {one.metadata.name} had no finalizer {finalizer} while {spec['volume']} was still there"
    return ""


@checks.never("orphans")
def orphans(moment: Moment) -> str:
    """An object is there without its namespace."""
    there = namespaces(moment)
    for kind, namespace, name in moment.objects:
        if namespace and namespace not in there:
            return f"{kind} {name} was still stored when its namespace {namespace} was gone"
    return ""


@checks.again("gone", "the team comes back")
def back_again(facts: Experiment) -> None:
    """A new namespace of the same name has nothing of the old one, and its operator-less Dataset is a new one."""
    v = facts.variant
    facts.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": v.team}})
    facts.let_pass(5)
    metadata = {"name": v.first, "namespace": v.team}
    facts.apply({"apiVersion": f"{v.group}/v1", "kind": "Dataset", "metadata": metadata, "spec": {"volume": "new"}})
    facts.let_pass(30)
    namespace, made = facts.find("Namespace", v.team, ""), facts.find("Dataset", v.first, v.team)
    facts.expect(
        namespace is not None and namespace.metadata.deletion_timestamp is None and made is not None,
        found=f"the new namespace {v.team} does not keep its Dataset",
        expected=f"Dataset {v.first} in it",
        hint="an object of the old namespace that is still stored comes back with its name",
    )
    facts.expect(
        not made.metadata.deletion_timestamp and to_dict(made)["spec"]["volume"] == "new",
        found=f"Dataset {v.first} of the new namespace is the old one",
        expected="a new one",
    )
    theirs = facts.find("Dataset", v.theirs, v.other)
    facts.expect(
        theirs is not None and theirs.metadata.finalizers,
        found=f"Dataset {v.theirs} of {v.other} has lost its finalizer",
        expected=f"{v.other} as it was",
    )


@checks.again("volumes", "the kept volume is used again")
def used_again(facts: Experiment) -> None:
    """A claim names the kept volume, and gets it."""
    v = facts.variant
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": f"{v.kept}-data"}
    spec["resources"] = {"requests": {"storage": "5Gi"}}
    facts.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "again"}, "spec": spec})
    facts.let_pass(30)
    claim = facts.find("PersistentVolumeClaim", "again")
    facts.expect(
        claim is not None and claim.status.phase == "Bound",
        found=f"a claim for {v.kept}-data is not bound",
        expected="the volume given to it",
        hint="the volume must be as the setup has it",
    )


@checks.observed("left", at_start=True)
def left(facts: Experiment) -> int:
    facts.delete("Namespace", facts.variant.team)
    facts.let_pass(120)
    namespace = facts.find("Namespace", facts.variant.team, "")
    conditions = (namespace.status or {}).get("conditions") or []
    text = next((one["message"] for one in conditions if one["type"] == "NamespaceContentRemaining"), "")
    return sum(map(int, re.findall(r"has (\d+) resource instances", text)))


@checks.observed("force", at_start=True)
def force(facts: Experiment) -> str:
    v = facts.variant
    facts.delete("Namespace", v.team)
    facts.let_pass(30)
    facts.finalize(v.team)
    facts.let_pass(30)
    namespace = facts.find("Namespace", v.team, "")
    stored = facts.find("Dataset", v.first, v.team)
    if namespace is not None:
        active = namespace.metadata.deletion_timestamp is None
        return "the namespace is Active again" if active else "the API server refuses it: the namespace is not empty"
    return "the namespace is deleted, its Datasets stay" if stored else "the namespace and its Datasets are deleted"
