"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: web-2, labels: {{app: web, tier: front}}}}
spec:
  {where}
  topologySpreadConstraints: {spread}
  containers:
  - {{name: main, image: "example/web:1", command: [sleep, infinity], resources: {{requests: {{cpu: 800m}}}}}}
"""
SPREAD = (
    "[{{maxSkew: {skew}, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: {when}, "
    "labelSelector: {{matchLabels: {labels}}}}}]"
)
AFFINITY = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: pool, operator: In, values: [web]}]}]}}}"
)
FRONT, WEB = "{app: web, tier: front}", "{app: web}"


def again(cluster, where=AFFINITY, *, skew=1, when="DoNotSchedule", labels=WEB, spread=SPREAD):
    cluster.delete("Pod", "web-2")
    cluster.apply(POD.format(where=where, spread=spread.format(skew=skew, when=when, labels=labels)))
    cluster.advance(15)


def reference(cluster):
    again(cluster, labels=FRONT)


def nothing_but_waiting(cluster):
    cluster.advance(600)


def a_bigger_skew(cluster):
    again(cluster, skew=3)


def only_a_wish(cluster):
    again(cluster, when="ScheduleAnyway")


def no_constraint(cluster):
    again(cluster, spread="[]")


def counting_nobody(cluster):
    again(cluster, labels="{app: nobody}")


wrong = {
    "whose are they, and where do they stand": nothing_but_waiting,
    "hides the problem until the next pod": a_bigger_skew,
    "a wish, not a rule": only_a_wish,
    "all pods may end up in one zone": no_constraint,
    "does not count its own kind": counting_nobody,
}
