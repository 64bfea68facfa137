"""All pods run tonight; and with the same template they would run in other nights, not too many of them in one zone."""

import json
from functools import cache

from kitlib.api.apps import Deployment
from kitlib.api.errors import KitError
from kitlib.api.serialize import to_dict
from kitlib.examples.sweeps import example
from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.lab.history import Moment
from kitlib.study.sweeps import sweep

checks = Checks()
ZONE, REPAIR = "topology.kubernetes.io/zone", "repair-"
HONOR = {"topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"}
CHOICES = ("in none: all zones that count have room", "in some of them", "in more than half of them")


BY_NAME = "every night has new nodes with other names: choose zones, not the names of tonight's nodes"


def draws(facts: Facts, spec: dict, *, later: bool = False) -> tuple[dict[str, int], ...]:
    """Pods that wait and pods in the fullest zone, night by night, for pods of this spec.

    Args:
        facts: the facts of the check.
        spec: the specification of the pods.
        later: whether to return as many nights that follow the ones of the task.
    """
    v = facts.variant
    nights = nights_of(json.dumps(spec, sort_keys=True), v.app, v.replicas, v.nights * (1 + later))
    return nights[v.nights :] if later else nights


@cache
def nights_of(spec: str, app: str, replicas: int, seeds: int) -> tuple[dict[str, int], ...]:
    """The same, computed once for all checks of a grade: a sweep takes a quarter of a second.

    The nodes of these nights have other names than tonight's; those of the zone repair stay.
    """
    pods = [{"count": replicas, "name": f"{app}-${{i}}", "labels": {"app": app}, "spec": json.loads(spec)}]
    nodes = [{**one, "name": one["name"].replace("node-", "bought-")} for one in example("nights").scenario["nodes"]]
    try:
        found = sweep({"nodes": nodes, "pods": pods}, {}, ["pending", "zone_most"], seeds=seeds, workers=0)
    except KitError as error:
        raise Wrong(f"a sweep cannot take the template: {error}", "a template that can be swept", "") from None
    if found.errors:
        raise Wrong(f"a night ends in an error: {found.errors[0].error}", "a template that can be swept", "")
    return tuple(row.values for row in found.rows)


def template(facts: Facts) -> dict:
    """The specification of the Deployment's pods."""
    found = facts.find("Deployment", facts.variant.app)
    if not isinstance(found, Deployment):
        raise Wrong(f"no Deployment {facts.variant.app}", "the Deployment to be there", "apply it again")
    return to_dict(found.spec.template.spec)


def names_nodes(spec: dict) -> bool:
    """Whether the pods choose nodes by their names."""
    chosen = [spec.get("nodeSelector"), (spec.get("affinity") or {}).get("nodeAffinity")]
    return any(key in json.dumps(chosen) for key in ("kubernetes.io/hostname", "metadata.name"))


@checks.check("tonight")
def tonight(facts: Facts) -> None:
    v = facts.variant
    template(facts)
    pods = [pod for pod in facts.pods("default", {"app": v.app}) if pod.metadata.deletion_timestamp is None]
    for pod in pods:
        if not pod.spec.node_name:
            message = next((c.message for c in pod.status.conditions if c.type == "PodScheduled"), "")
            raise Wrong(
                f"{pod.metadata.name} is pending: {message}",
                f"{v.replicas} running pods",
                "the fewest pods are in repair, where none may go: does that zone count? lab.cluster.advance(60)",
            )
        facts.needs_the_scheduler(pod)
    facts.expect(
        len(pods) == v.replicas,
        found=f"{len(pods)} pods",
        expected=str(v.replicas),
        hint="a rolling update needs its time: lab.cluster.advance(60)",
    )


@checks.check("nights")
def nights(facts: Facts) -> None:
    v = facts.variant
    waits = [row["pending"] for row in draws(facts, template(facts)) if row["pending"]]
    facts.expect(
        v.nights - len(waits) >= v.enough,
        found=f"in {len(waits)} of {v.nights} nights pods wait, up to {max(waits, default=0)}",
        expected=f"at most {v.nights - v.enough} such nights",
        hint=BY_NAME
        if names_nodes(template(facts))
        else "tonight all zones are large: in other nights the smallest one holds back the others",
    )


@checks.check("zone")
def zone(facts: Facts) -> None:
    most = max(row["zone_most"] for row in draws(facts, template(facts)))
    facts.expect(
        most <= facts.variant.bound,
        found=f"in one of the nights a zone has {most} pods",
        expected=f"at most {facts.variant.bound}",
        hint="a larger maxSkew than needed, or a wish, lets one zone hold most of them",
    )


@checks.never("nodes")
def nodes(moment: Moment) -> str:
    change = moment.change.object if moment.change else None
    if change is not None and change.kind == "Pod" and (change.spec.node_name or "").startswith(REPAIR):
        return f"pod {change.metadata.name} was put on {change.spec.node_name}"
    return ""


@checks.again("tonight", "all pods are started anew")
def anew(facts: Experiment) -> None:
    """The scheduler finds places for all of them from an empty cluster, too."""
    v = facts.variant
    facts.patch("Deployment", v.app, {"spec": {"replicas": 0}})
    facts.let_pass(40)
    facts.patch("Deployment", v.app, {"spec": {"replicas": v.replicas}})
    facts.let_pass(40)
    tonight(facts)


@checks.again("nights", "the nights of the next three weeks")
def next_nights(facts: Experiment) -> None:
    """Nights that no sweep of the task has shown: a choice that only fits the known ones fails here."""
    v = facts.variant
    rows = draws(facts, template(facts), later=True)
    waits = [row["pending"] for row in rows if row["pending"]]
    facts.expect(
        len(rows) - len(waits) >= v.enough - 2,
        found=f"in {len(waits)} of {len(rows)} other nights pods wait, up to {max(waits, default=0)}",
        expected=f"at most {len(rows) - v.enough + 2} such nights",
        hint="twenty nights are a sample: leave some room for smaller zones",
    )


@checks.again("zone", "the nights of the next three weeks")
def next_zone(facts: Experiment) -> None:
    """The bound on a zone holds there too."""
    most = max(row["zone_most"] for row in draws(facts, template(facts), later=True))
    facts.expect(
        most <= facts.variant.bound,
        found=f"in one of the other nights a zone has {most} pods",
        expected=f"at most {facts.variant.bound}",
        hint="a bound must follow from the constraint, not from the nights that were tried",
    )


@checks.observed("one", at_start=True)
def one(facts: Experiment) -> str:
    rule = {**HONOR, "maxSkew": 1, "labelSelector": {"matchLabels": {"app": facts.variant.app}}}
    spec = template(facts) | {"topologySpreadConstraints": [rule]}
    waits = sum(row["pending"] > 0 for row in draws(facts, spec))
    return CHOICES[0] if not waits else CHOICES[1] if 2 * waits <= facts.variant.nights else CHOICES[2]
