"""Public threads rebuilt as dumps: the first results of stated queries, in order, and those that were passed over.

The queries went to a search over stored GitHub threads. A thread was passed over where it is no report of a pod that
waits (a proposal, documentation, a feature request, a fix), or where its excerpt does not say the cause.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.advisor.dumps import node, pod, some

QUERIES = {
    "queue": "kueue workload pending pod scheduling gated why not admitted insufficient quota",
    "volume": "volume node affinity conflict pod pending FailedScheduling",
    "victims": "pod stuck Pending preemption not helpful No preemption victims found for incoming pod",
    "admission": "OutOfcpu OutOfmemory pod rejected kubelet admission after scheduled",
    "gang": "volcano podgroup pending not ready minAvailable gang unschedulable job pending",
    "spread": "0/ nodes are available didn't match pod topology spread constraints pod pending untolerated taint",
    "quota": "FailedCreate exceeded quota replicaset pods forbidden deployment no pods created",
    "resize": "in-place pod resize Deferred Infeasible PodResizePending pod stuck",
    "limits": "node(s) exceed max volume count pod pending CSINode allocatable",
    "preemption": "higher priority pod pending preempts lower priority pod nominatedNodeName victims terminating",
    "amounts": "FailedScheduling Insufficient cpu memory pod pending node has enough resources allocatable requests",
    "nominated": "nominatedNodeName set but pod stays Pending victims terminating graceful period "
    "preempted pods still running",
    "helpful": 'high priority pod does not preempt low priority pods stays pending "Preemption is not helpful '
    'for scheduling" bug report',
    "budgets": "preemptionPolicy Never or PodDisruptionBudget preemption pod pending high priority not preempting "
    "lower priority pods FailedScheduling",
    "lower": "kube-scheduler preemption pod not preempting lower priority pods pending",
    "members": "gang scheduling PodGroup pending minMember not enough pods pending volcano coscheduling",
    "wrong": "kubernetes issue: critical pod or daemonset preempts pods unexpectedly, wrong victims chosen by "
    "scheduler preemption",
    "pause": "overprovisioning pause pods low priority not preempted immediately pod stays pending cluster-autoscaler "
    "preemption bug report",
    "cleared": "kube-scheduler nominatedNodeName not cleared pod Pending bug after victims deleted other pod takes "
    "room",
    "together": "pod group gang minMember some pods Pending waiting for other members scheduled nothing bound "
    "coscheduling deadlock report",
    "reports": "the reports about preemption that the project had rebuilt before",
}
PASSED_OVER = {
    "queue": "enhancements#5490, kubernetes#13567, kueue#515, kubernetes#16652, website#37436 (no report), "
    "openshift/origin#2115 (no cause)",
    "volume": "kubernetes#108096 (cause not settled)",
    "victims": "website#5328, #9568, #28351, #12961, community#745, NVSentinel#1651, kubernetes#139162 (no report), "
    "volcano#3207, kueue#6143 (defects of other schedulers)",
    "admission": "openshift/kubernetes#2574, website#32733 (no report)",
    "gang": "volcano#2930 (the group runs), #3976, #4117 (no report)",
    "spread": "kubernetes#101922, #97687 (no pod waits)",
    "quota": "openshift/origin#8748 (no pods), kubernetes#6822, website#641 (no report), kubesphere#5062, "
    "kubernetes#54789 (no cause)",
    "resize": "kubernetes#123441 (ended by itself), website#48503, agent-sandbox#1321, attune#436, enhancements#1883, "
    "kubernetes#102884, #130733 (no report)",
    "limits": "hpe csi-driver#138, vsphere-csi-driver#46, #847, website#34241 (no report), "
    "csi-digitalocean#128 (no cause), volcano#3191 (a request to another scheduler)",
    "preemption": "openshift-docs#11969, website#28351, #7209, #5328, #9568, community#745, #1228 (no report)",
    "amounts": "windows-operational-readiness#26, kubernetes#85742, #11453 (no cause), #37232, #34920 (defects)",
    "nominated": "community#745, openshift-docs#11969, website#7209, #5328, #9568, enhancements#6344, "
    "kubernetes#97546 (no report), kube-scheduler-simulator#271 (already there)",
    "helpful": "website#5328, NVSentinel#1651, openshift-docs#27676 (no report), volcano#3207, #1091, #3079 "
    "(another scheduler), kube-scheduler-simulator#271 (already there)",
    "lower": "community#745, website#5328, #9568, openshift-docs#11969 (no report), kube-scheduler-simulator#271, "
    "kubernetes#129136 (already there)",
    "members": "DaoCloud-docs#4587, HAMi/website#734 (no report), volcano#5075 (no pod waits), #2416, #1959, #2462 "
    "(already there)",
    "wrong": "kubernetes#128307, #128434, #128431, #128435, #141926 (fixes), community#745 (no report), "
    "kubernetes#70622, #129136 (already there)",
    "pause": "autoscaler#742, #4317, #735, cortex#498, kubernetes#137655 (no report), autoscaler#4110 (the same report "
    "again), #6086 (no cause), neondatabase/autoscaling#64 (another scheduler)",
    "cleared": "kubernetes#102339, #126700 (defects of the scheduler's cache), #106816, #91750, #133276 (fixes), "
    "#106780, #119967, #86942 (already there)",
    "together": "community#2337, enhancements#1463, #3371, HAMi#1832, HAMi/website#734 (no report), koordinator#1919 "
    "(a defect of another scheduler)",
    "budgets": "website#28351, #5328, enhancements#3755, NVSentinel#1651 (no report)",
}
Objects = list[dict[str, Any]]


class Thread(NamedTuple):
    """A thread, and what it says.

    Attributes:
        source: repository and number.
        query: key of `QUERIES`.
        stage: the stage that holds the pod.
        cause: words of the answer that name the cause.
        objects: the dump.
        target: the object that is asked about.
        remedy: words of a proposal that the thread's maintainers gave; "" = none.
    """

    source: str
    query: str
    stage: str
    cause: str
    objects: Objects
    target: str = "p"
    remedy: str = ""


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CONTROL_PLANE = [{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}]
CLAIMED = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": HOST}
        ]
    }
}
LABELLED = {"labels": {"a": "b"}}


LAST_OLD_WORDS = "1.30"
"""The threads about volumes are of releases with these words; newer releases write others."""


def claim(name: str = "data", zone: str = "a", key: str = ZONE, bound: bool = True) -> Objects:
    """Return a claim and its volume, which can be used from one zone; or an unbound claim (Immediate)."""
    made = some(f"""
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {{name: {name}, namespace: default, annotations: {{pv.kubernetes.io/bind-completed: "yes"}}}}
  spec:
    volumeName: pv-{name}
    accessModes: [ReadWriteOnce]
    storageClassName: s
    resources: {{requests: {{storage: 1Gi}}}}
  status: {{phase: Bound}}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {{name: pv-{name}}}
  spec:
    storageClassName: s
    local: {{path: /x}}
    nodeAffinity:
      required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: {key}, operator: In, values: [{zone}]}}]}}]}}
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata: {{name: s}}
  provisioner: x
  volumeBindingMode: Immediate
""")
    if not bound:
        made[0]["metadata"]["annotations"], made[0]["status"] = {}, {"phase": "Pending"}
        del made[0]["spec"]["volumeName"], made[1]
    return made


def zones(conflict: int, selected: int = 0, small: int = 0, tainted: int = 0) -> Objects:
    """Return nodes in another zone than the volume's, outside the node selector, too small, and tainted."""
    in_b, chosen = {ZONE: "b", "pool": "x"}, {ZONE: "a", "pool": "x"}
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    nodes = [node(f"b{i}", labels=in_b) for i in range(conflict)]
    nodes += [node(f"other{i}", labels={ZONE: "a"}) for i in range(selected)]
    nodes += [node(f"small{i}", cpu="500m", labels=chosen) for i in range(small)]
    return nodes + [node(f"tainted{i}", labels=chosen, taints=taints) for i in range(tainted)]


def conflict(*counts: int, **spec: Any) -> Objects:
    """Return a pod whose bound volume is in a zone without a node for it."""
    selector = {"nodeSelector": {"pool": "x"}} if len(counts) > 1 else {}
    return [*zones(*counts), pod("p", spec={**CLAIMED, **selector, **spec}, meta=LABELLED), *claim()]


def refused(reason: str, message: str = "Pod was rejected: Node didn't have enough resource", **more: Any) -> Objects:
    """Return a pod that its kubelet refused."""
    status = {"phase": "Failed", "reason": reason, "message": message}
    return [node("n1", **more), pod("p", on="n1", status=status)]


def spread(ready: int, placed: int, taints: list[dict[str, str]], more: int = 1) -> Objects:
    """Return a pod with a constraint by hostname, pods on the first nodes, and tainted nodes without such pods."""
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}
    constraints = {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"a": "b"}}}]}
    nodes = [node(f"n{i}") for i in range(ready)] + [node(f"t{i}", taints=taints) for i in range(more)]
    return [
        *nodes,
        *(pod(f"q{i}", on=f"n{i}", meta=LABELLED, cpu="100m") for i in range(placed)),
        pod("p", cpu="100m", meta=LABELLED, spec=constraints),
    ]


def group(phase: str, least: int, members: int, running: int = 0, message: str = "") -> Objects:
    """Return a PodGroup of Volcano and its pods."""
    held = some(f"""
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {{name: pg, namespace: default}}
  spec: {{minMember: {least}, queue: default}}
  status:
    phase: {phase}
    conditions: [{{type: Unschedulable, status: "True", reason: NotEnoughResources, message: "{message}"}}]
""")
    meta = {"annotations": {"scheduling.k8s.io/group-name": "pg"}}
    names = ["p", *(f"p{i}" for i in range(1, members))]
    pods = [
        pod(name, on="n1" if i >= members - running else "", cpu="100m", meta=meta, spec={"schedulerName": "volcano"})
        for i, name in enumerate(names)
    ]
    return [node("n1"), *pods, *held]


def coscheduled(phase: str, least: int, members: int, bound: int = 0, koordinator: bool = False) -> Objects:
    """Return a PodGroup of the coscheduling plugin, or of Koordinator's form of it, and its pods."""
    api = "scheduling.sigs.k8s.io" if koordinator else "scheduling.x-k8s.io"
    label = f"pod-group.{api}" if koordinator else f"{api}/pod-group"
    by = "koord-scheduler" if koordinator else "scheduler-plugins-scheduler"
    held = some(f"""
- apiVersion: {api}/v1alpha1
  kind: PodGroup
  metadata: {{name: pg, namespace: default}}
  spec: {{minMember: {least}}}
  status: {{phase: {phase}}}
""")
    names = ["p", *(f"p{i}" for i in range(1, members))]
    pods = [
        pod(
            name,
            on="n1" if i >= members - bound else "",
            cpu="100m",
            meta={"labels": {label: "pg"}},
            spec={"schedulerName": by},
        )
        for i, name in enumerate(names)
    ]
    return [node("n1"), *pods, *held]


def quota(kind: str, hard: str, used: str, resources: str, replicas: int = 1) -> Objects:
    """Return a workload without pods in a namespace with a quota."""
    group = "v1" if kind == "ReplicationController" else "apps/v1"
    selector = "{a: b}" if kind == "ReplicationController" else "{matchLabels: {a: b}}"
    return [
        node("n1"),
        *some(f"""
- apiVersion: v1
  kind: ResourceQuota
  metadata: {{name: q, namespace: default}}
  spec: {{hard: {hard}}}
  status: {{used: {used}}}
- apiVersion: {group}
  kind: {kind}
  metadata: {{name: w, namespace: default, uid: w}}
  spec:
    replicas: {replicas}
    selector: {selector}
    template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i, resources: {resources}}}]}}}}
"""),
    ]


def kueue(conditions: str, gates: list[str]) -> Objects:
    """Return a pod with gates and its Workload."""
    gated = {"schedulingGates": [{"name": gate} for gate in gates]}
    return [
        node("n1"),
        pod("p", spec=gated, meta={"labels": {"kueue.x-k8s.io/queue-name": "user"}}),
        *some(f"""
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: Workload
  metadata: {{name: wl, namespace: default, ownerReferences: [{{apiVersion: v1, kind: Pod, name: p, uid: uid-p}}]}}
  spec: {{queueName: user, podSets: []}}
  status: {{conditions: {conditions}}}
"""),
    ]


ADMITTED = '[{type: QuotaReserved, status: "True"}, {type: Admitted, status: "True"}]'
KUEUE_GATE = "kueue.x-k8s.io/admission"


def attached(limit: int, nodes: int, wanted: int = 1) -> Objects:
    """Return nodes on which a driver's limit is reached, and a pod with volumes of this driver."""
    found: Objects = []
    names = [f"w{i}" for i in range(wanted)]
    for name in [*names, *(f"n{i}-{k}" for i in range(nodes) for k in range(limit))]:
        made = claim(name)[:2]
        made[1]["spec"] = {"storageClassName": "s", "csi": {"driver": "x", "volumeHandle": name}}
        found += made
    for i in range(nodes):
        found.append(node(f"n{i}"))
        driver = f"{{name: x, nodeID: n, allocatable: {{count: {limit}}}}}"
        spec = f"spec: {{drivers: [{driver}]}}"
        found += some(f"- {{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {{name: n{i}}}, {spec}}}")
        if wanted == 1:
            found.append(pod(f"full{i}", on=f"n{i}", cpu="100m", spec=volumes(f"n{i}-{k}" for k in range(limit))))
    return [*found, pod("p", cpu="100m", spec=volumes(names))]


def volumes(names: Any) -> dict[str, Any]:
    """Return the volumes of a pod, one for each claim."""
    return {"volumes": [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": one}} for i, one in enumerate(names)]}


def not_attached(message: str) -> Objects:
    """Return a pod on a node to which its volume cannot be attached."""
    attachment = some(f"""
- apiVersion: storage.k8s.io/v1
  kind: VolumeAttachment
  metadata: {{name: va}}
  spec: {{attacher: x, nodeName: n1, source: {{persistentVolumeName: pv-data}}}}
  status: {{attached: false, attachError: {{message: "{message}"}}}}
""")
    return [node("n1"), pod("p", on="n1", spec=CLAIMED, status={"phase": "Pending"}), *claim(), *attachment]


def resize(reason: str, cpu: str = "3", old: bool = False) -> Objects:
    """Return a running pod with a resize that waits, beside another pod."""
    said = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": reason, "message": "no room"}]}
    status: dict[str, Any] = {"phase": "Running", **({"resize": reason} if old else said)}
    return [node("n1"), pod("other", cpu="2", on="n1"), pod("p", cpu=cpu, on="n1", status=status)]


def preempting(nodes: int, high: int = 1000, low: int = 0, **more: Any) -> Objects:
    """Return a pod of high priority and nodes that are full of pods of low priority."""
    full = [pod(f"low{i}", cpu="4", on=f"n{i}", spec={"priority": low}) for i in range(nodes)]
    return [*(node(f"n{i}") for i in range(nodes)), *full, pod("p", cpu="4", spec={"priority": high}, **more)]
