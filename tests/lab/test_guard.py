"""What a lab does not open stays as it was: which write is refused, at which moment, and in which words."""

import re
from pathlib import Path

import pytest

from kitlib.api.serialize import to_dict
from kitlib.cluster import Cluster
from kitlib.lab.definition import LabFolder
from kitlib.lab.grader import prepare
from kitlib.lab.guard import LabGuard
from kitlib.lab.history import History

LABS = Path(__file__).parents[2] / "labs"
FOLDERS = [LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
BY_NAME = [pytest.param(folder, id=folder.name) for folder in FOLDERS]
WORK = "kitlib.dev/workload.main"
MAIN = {"name": "main", "image": "x:1", "resources": {"requests": {"cpu": "500m"}}}
SIDE = {"name": "side", "image": "y:1", "command": ["sleep", "infinity"]}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "a"}, "annotations": {WORK: "2s memory=9Mi; cpu=1 memory=20Mi"}},
    "spec": {"containers": [MAIN, SIDE]},
}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [SIDE]}},
    },
}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "mine"}, "value": 7}


def broken(opens, act):
    """What the guard refuses of what `act` does; "" = nothing."""
    cluster = Cluster.simulated(nodes=[{"name": "n", "labels": {"zone": "z"}, "taints": ["t=1:PreferNoSchedule"]}])
    cluster.apply([POD, WEB])
    cluster.advance(20)
    cluster.journal.clear()
    history = History(cluster)
    act(cluster)
    guard = LabGuard({key: tuple(paths) for key, paths in opens.items()}, history, list(cluster.journal))
    return next((refusal.found for refusal in guard.refused()), "")


def again(cluster, spec=None, **metadata):
    """The pod deleted and made again, with another specification or other metadata."""
    cluster.delete("Pod", "a", grace=0)
    cluster.apply({**POD, "metadata": {**POD["metadata"], **metadata}, "spec": spec or POD["spec"]})
    cluster.advance(5)


RESTART = {"Deployment web": ["spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"]}
GONE = {"gone": ["Deployment web"]}


def annotated(key):
    """A patch that gives the pods of a template an annotation."""
    return {"spec": {"template": {"metadata": {"annotations": {key: "2"}}}}}


def delete_web(cluster, policy):
    cluster.delete("Deployment", "web", propagation_policy=policy)
    cluster.advance(60)


def main(**fields):
    return {"containers": [{**MAIN, **fields}, SIDE]}


def there_and_back(cluster):
    cluster.patch("Node", "n", {"metadata": {"labels": {"zone": "y"}}})
    cluster.patch("Node", "n", {"metadata": {"labels": {"zone": "z"}}})


def pod_of_web(cluster):
    return next(pod.metadata.name for pod in cluster.list("Pod") if pod.metadata.labels.get("app") == "web")


def set_of_web(cluster):
    return cluster.list("ReplicaSet")[0].metadata.name


def forged(cluster):
    """A pod that names a ReplicaSet of the lab as its owner."""
    owner = cluster.list("ReplicaSet")[0].metadata
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
    }
    cluster.apply({**POD, "metadata": {"name": "b", "labels": {"app": "web"}, "ownerReferences": [reference]}})


def tried_and_corrected(cluster):
    again(cluster, main(image="z:1"))
    again(cluster, main(resources={"requests": {"cpu": "1"}}))


def smaller_and_corrected(cluster):
    again(cluster, main(resources={"requests": {"cpu": "1m"}}))
    again(cluster, main(resources={"requests": {"cpu": "500m"}}))


def worked_less_for_a_while(cluster):
    """The pod starts with less work; its annotation is put back while the same process goes on."""
    again(cluster, annotations={WORK: "memory=4Mi"})
    cluster.patch("Pod", "a", {"metadata": {"annotations": POD["metadata"]["annotations"]}})


def a_tampered_pod_outlives_its_template(cluster):
    """The template is put back, and the roll-out back to it is stopped."""
    template = {"spec": {"containers": [{**SIDE, "image": "z:1"}]}}
    cluster.patch("Deployment", "web", {"spec": {"template": template}})
    cluster.advance(60)
    cluster.patch("Deployment", "web", {"spec": {"paused": True}})
    cluster.patch("Deployment", "web", {"spec": {"template": WEB["spec"]["template"]}})
    cluster.advance(30)


RESOURCES = {"Pod a": ["containers.*.resources"]}
THREADS = {"Pod a": ["work.main.*.cpus"]}
CASES = [
    ("nothing was done", {}, lambda c: c.advance(600), ""),
    ("the same manifests once more", {}, lambda c: c.apply([POD, WEB]), ""),
    (
        "a note for oneself",
        {},
        lambda c: c.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}}),
        "",
    ),
    (
        "a class that is the default of all pods",
        {"new": ["PriorityClass"]},
        lambda c: c.apply({**CLASS, "globalDefault": True}),
        "PriorityClass mine is the default of all new pods",
    ),
    ("a label of a node, changed and put back", {}, there_and_back, "Node n: metadata.labels.zone is no longer"),
    ("a taint went", {}, lambda c: c.patch("Node", "n", {"spec": {"taints": None}}), "Node n: spec.taints"),
    ("a node was cordoned", {}, lambda c: c.cordon("n"), "Node n: spec.unschedulable"),
    ("the same, opened", {"Node n": ["spec.unschedulable"]}, lambda c: c.cordon("n"), ""),
    (
        "a kubelet with other settings",
        {},
        lambda c: c.node("n").restart_kubelet({"maxPods": 5}),
        "restart_kubelet n was",
    ),
    (
        "another node came",
        {},
        lambda c: c.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "m"}}),
        "is new",
    ),
    ("a pod was deleted", {}, lambda c: c.delete("Pod", "a"), "Pod a was deleted (delete Pod a)"),
    ("a pod that may go was deleted", {"gone": ["Pod a"]}, lambda c: c.delete("Pod", "a"), ""),
    ("a pod was evicted", {}, lambda c: c.evict("a"), "Pod a was deleted (evict Pod a)"),
    ("an opened pod was made again alike", RESOURCES, again, ""),
    ("opened resources", RESOURCES, lambda c: again(c, main(resources={"limits": {"cpu": 1}})), ""),
    ("a larger request", RESOURCES, lambda c: again(c, main(resources={"requests": {"cpu": "2"}})), ""),
    (
        "a smaller request",
        RESOURCES,
        lambda c: again(c, main(resources={"requests": {"cpu": "499m"}})),
        "Pod a: spec.containers.main.resources.requests.cpu is 499m, less than the 500m of before (after 0 s",
    ),
    (
        "a request that comes back in the limit",
        RESOURCES,
        lambda c: again(c, main(resources={"limits": {"cpu": "500m", "memory": "1Gi"}})),
        "",
    ),
    ("no request", RESOURCES, lambda c: again(c, main(resources={})), "requests.cpu is missing, less than the 500m"),
    (
        "a smaller request of a living pod",
        RESOURCES,
        lambda c: c.resize("a", {"main": {"requests": {"cpu": "100m"}}}),
        "requests.cpu is 100m, less than the 500m of before",
    ),
    (
        "a smaller request that the lab asks for",
        {**RESOURCES, "smaller": ["Pod a cpu"]},
        lambda c: again(c, main(resources={"requests": {"cpu": "1m"}})),
        "",
    ),
    (
        "a smaller request of another resource",
        {**RESOURCES, "smaller": ["Pod a memory"]},
        lambda c: again(c, main(resources={"requests": {"cpu": "1m"}})),
        "requests.cpu is 1m",
    ),
    ("any smaller request", {**RESOURCES, "smaller": ["Pod *"]}, lambda c: again(c, main(resources={})), ""),
    (
        "the pod as a whole requests what the container did",
        {"Pod a": ["containers.*.resources", "resources"]},
        lambda c: again(c, {**main(resources={}), "resources": {"requests": {"cpu": "500m"}}}),
        "",
    ),
    (
        "the pod as a whole requests less than the container did",
        {"Pod a": ["containers.*.resources", "resources"]},
        lambda c: again(c, {**main(resources={}), "resources": {"requests": {"cpu": "400m"}}}),
        "main.resources.requests.cpu is missing",
    ),
    ("a smaller request, corrected", RESOURCES, smaller_and_corrected, ""),
    ("resources that are not", {"Pod a": []}, lambda c: again(c, main(resources={})), "Pod a was deleted"),
    ("another image", RESOURCES, lambda c: again(c, main(image="z:1")), "spec.containers.main.image is no longer"),
    ("a command", RESOURCES, lambda c: again(c, main(command=["true"])), "spec.containers.main.command"),
    ("an environment", RESOURCES, lambda c: again(c, main(env=[{"name": "A", "value": "1"}])), "main.env.A"),
    ("a probe", RESOURCES, lambda c: again(c, main(livenessProbe={"exec": {"command": ["a"]}})), "main.livenessProbe"),
    ("a hook", RESOURCES, lambda c: again(c, main(lifecycle={"preStop": {"sleep": {"seconds": 1}}})), "main.lifecycle"),
    (
        "a container more",
        RESOURCES,
        lambda c: again(c, {"containers": [MAIN, SIDE, {**SIDE, "name": "b"}]}),
        "containers.b",
    ),
    (
        "the same, opened",
        {"Pod a": ["containers.+"]},
        lambda c: again(c, {"containers": [MAIN, SIDE, {**SIDE, "name": "b"}]}),
        "",
    ),
    ("a container less", {"Pod a": ["containers.+"]}, lambda c: again(c, {"containers": [MAIN]}), "containers.side"),
    (
        "an init container",
        RESOURCES,
        lambda c: again(c, {**POD["spec"], "initContainers": [{**SIDE, "name": "b"}]}),
        "initContainers.b",
    ),
    (
        "the sidecar as a native one",
        RESOURCES,
        lambda c: again(c, {"containers": [MAIN], "initContainers": [{**SIDE, "restartPolicy": "Always"}]}),
        "",
    ),
    (
        "a volume",
        RESOURCES,
        lambda c: again(c, {**POD["spec"], "volumes": [{"name": "v", "emptyDir": {}}]}),
        "volumes.v",
    ),
    ("another scheduler", RESOURCES, lambda c: again(c, {**POD["spec"], "schedulerName": "x"}), "spec.schedulerName"),
    ("a priority", RESOURCES, lambda c: c.apply(CLASS), "PriorityClass mine is new"),
    ("the same, opened", {"new": ["PriorityClass"]}, lambda c: c.apply(CLASS), ""),
    ("a label", RESOURCES, lambda c: again(c, labels={"app": "a", "b": "c"}), "metadata.labels.b is no longer"),
    (
        "an owner",
        RESOURCES,
        lambda c: c.patch("Pod", "a", {"metadata": {"finalizers": ["x.y/z"]}}),
        "metadata.finalizers",
    ),
    (
        "less work in the first phase",
        THREADS,
        lambda c: again(c, annotations={WORK: "3s memory=9Mi; cpu=1 memory=20Mi"}),
        "(phase 1, seconds)",
    ),
    (
        "less work in the last one",
        THREADS,
        lambda c: again(c, annotations={WORK: "2s memory=9Mi; cpu=1 memory=2Mi"}),
        "(phase 2, memory)",
    ),
    (
        "a phase before them",
        THREADS,
        lambda c: again(c, annotations={WORK: "9s; 2s memory=9Mi; cpu=1 memory=20Mi"}),
        "phase",
    ),
    ("no work", THREADS, lambda c: again(c, annotations={}), f"metadata.annotations[{WORK}] (phase 1)"),
    (
        "only the threads",
        THREADS,
        lambda c: again(c, annotations={WORK: "2000ms memory=9Mi; cpu=2 memory=20480Ki"}),
        "",
    ),
    ("a try that was corrected", RESOURCES, tried_and_corrected, ""),
    ("less work, put back in the living pod", RESOURCES, worked_less_for_a_while, "(phase 1, memory) is no longer"),
    (
        "a pod of the learner's own, for a while",
        {},
        lambda c: (c.apply({**POD, "metadata": {"name": "b"}}), c.delete("Pod", "b")),
        "Pod b is new",
    ),
    ("a pod that forges its owner", {"Deployment web": ["spec.strategy"]}, forged, "Pod b is new"),
    (
        "a workload scaled down and up",
        {},
        lambda c: (c.scale("Deployment", "web", 0), c.scale("Deployment", "web", 2)),
        "Deployment web: spec.replicas",
    ),
    (
        "a living pod of a workload",
        {},
        lambda c: c.patch("Pod", pod_of_web(c), {"metadata": {"labels": {"x": "y"}}}),
        "labels.x",
    ),
    ("a deleted pod of a workload", {}, lambda c: c.delete("Pod", pod_of_web(c)), "was deleted"),
    ("the same of an opened one", {"Deployment web": ["spec.strategy"]}, lambda c: c.delete("Pod", pod_of_web(c)), ""),
    (
        "its ReplicaSet",
        {"Deployment web": ["spec.replicas"]},
        lambda c: c.scale("ReplicaSet", set_of_web(c), 0),
        "belongs to Deployment web: spec.replicas",
    ),
    (
        "an opened template",
        {"Deployment web": ["tolerations"]},
        lambda c: (
            c.patch("Deployment", "web", {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}),
            c.advance(60),
        ),
        "",
    ),
    (
        "an annotation of one's own in a template that may be restarted",
        RESTART,
        lambda c: c.patch("Deployment", "web", annotated("rev")),
        "",
    ),
    (
        "an annotation of the kit in a template that may be restarted",
        RESTART,
        lambda c: c.patch("Deployment", "web", annotated("kitlib.dev/note")),
        "annotations.kitlib.dev/note",
    ),
    (
        "an annotation of one's own in another template",
        {"Deployment web": ["spec.strategy"]},
        lambda c: c.patch("Deployment", "web", annotated("rev")),
        "annotations.rev",
    ),
    *(
        (f"a deletion with the policy {policy}", GONE, lambda c, p=policy: delete_web(c, p), "")
        for policy in ("Background", "Foreground", "Orphan")
    ),
    (
        "a finalizer of garbage collection without a deletion",
        GONE,
        lambda c: c.patch("Deployment", "web", {"metadata": {"finalizers": ["foregroundDeletion"]}}),
        "metadata.finalizers",
    ),
    (
        "a tampered pod that outlives its template",
        {"Deployment web": ["spec.paused"]},
        a_tampered_pod_outlives_its_template,
        "image is not what Deployment web gave",
    ),
]


@pytest.mark.parametrize(("opens", "act", "found"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_not_opened_is_refused(opens, act, found):
    said = broken(opens, act)
    assert found in said if found else said == ""


def test_a_refusal_names_the_write_that_it_rests_on():
    def act(cluster):
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}})
        cluster.advance(7)
        cluster.cordon("n")
        cluster.advance(60)

    assert broken({}, act) == "Node n: spec.unschedulable is no longer what it was (after 7 s, patch Node n)"


def values(value):
    """A field's value, changed: what a learner could put there instead."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if value < float("inf") else 60.0
    if isinstance(value, str):
        return f"{value}x"
    return [*value, *value[-1:]] if value else ["x"]


def paths_of(value, path=()):
    """The path of each leaf of a compared view."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from paths_of(one, (*path, key))
    elif value not in (None, [], {}, ""):
        yield path


@pytest.mark.parametrize("folder", BY_NAME)
def test_each_field_of_each_object_of_a_lab_is_refused_unless_opened(folder):
    """Every field of every object, one after the other, as if the learner's write had changed only that."""
    from kitlib.lab import guard

    cluster = prepare(folder)
    history = History(cluster)
    watch = LabGuard(folder.definition.opens, history, [])
    tried = 0
    for key, obj in history.first.items():
        if obj.metadata.owner_references or key[0] not in ("Pod", "Node", *guard.WORKLOADS, *EXTRA):
            continue
        view, opened = guard._view(obj), watch._paths(key)
        for path in paths_of(view):
            now = guard.canonical(view)
            place = now
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = values(place[path[-1]]) if not hasattr(place[path[-1]], "milli_value") else "1x"
            free = any(guard._matches(pattern, path, False) for pattern in opened)
            assert bool([*watch._differences(view, now, opened)]) is not free, (key, path)
            tried += 1
    assert tried > 20
    assert all(
        key in ("new", "actions", "gone", "smaller") or any(guard._names(key, one) for one in history.first)
        for key in folder.definition.opens
    )


EXTRA = (
    "Dataset",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PriorityClass",
    "PodDisruptionBudget",
    "LimitRange",
    "ResourceSlice",
    "ResourceClaimTemplate",
    "DeviceClass",
)


@pytest.mark.parametrize("folder", BY_NAME)
def test_no_lab_opens_a_whole_specification_or_all_annotations(folder):
    for key, paths in folder.definition.opens.items():
        for path in paths if key not in ("new", "actions", "gone", "smaller") else ():
            assert path not in ("*", "spec", "spec.*", "metadata", "containers.*", "work", "work.*"), (key, path)
            assert not path.startswith("metadata.annotations") or re.fullmatch(r"metadata\.annotations\[[^]*]+\]", path)


@pytest.mark.parametrize("folder", BY_NAME)
def test_a_lab_that_opens_requests_announces_that_they_may_not_become_smaller(folder):
    opens = folder.definition.opens
    opened = [key for key, paths in opens.items() if key.startswith("Pod ") and REQUESTS.search(" ".join(paths))]
    guarded = [key for key in opened if key not in opens.get("smaller", ())]
    assert "smaller" in folder.definition.brief or not guarded


REQUESTS = re.compile(r"resources(\.requests(\.\w+)?)?( |$)")


def test_a_view_is_the_same_for_a_pod_however_often_it_is_written():
    cluster = Cluster.simulated(1)
    cluster.apply(POD)
    first = cluster.get("Pod", "a")
    cluster.apply(to_dict(first))
    assert broken({}, lambda c: c.apply(POD)) == ""


def test_an_apply_without_objects_is_no_action_and_breaks_nothing():
    """A text with only a comment, or an attempt that put no pod back, once read as a new pod without a name."""

    def empty(cluster):
        cluster.apply([])
        assert cluster.journal == []
        cluster.journal.append({"action": "apply", "objects": []})  # as older journals have it

    assert broken({}, empty) == ""
