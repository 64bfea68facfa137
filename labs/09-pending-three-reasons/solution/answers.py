"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: report, labels: {{app: report}}}}
spec:
  {more}
  containers:
  - name: main
    image: example/report:1
    command: [sleep, infinity]
    resources: {{requests: {{cpu: "{cpu}", memory: 2Gi}}}}
"""
TOLERATION = "tolerations: [{key: team, value: data, effect: NoSchedule}]"


def again(cluster, cpu, *more):
    cluster.delete("Pod", "report")
    cluster.apply(POD.format(cpu=cpu, more="\n  ".join(more)))
    cluster.advance(15)


def reference(cluster):
    again(cluster, "3", TOLERATION, "nodeSelector: {disk: ssd}")


def only_the_selector(cluster):
    again(cluster, "6", "nodeSelector: {disk: ssd}")


def anywhere(cluster):
    again(cluster, "2", TOLERATION)


def by_hand(cluster):
    again(cluster, "3", TOLERATION, "nodeName: fast-1")


def still_too_big(cluster):
    again(cluster, "6", TOLERATION, "nodeSelector: {disk: ssd}")


def over_a_colleague(cluster):
    cluster.delete("Pod", "warehouse")
    again(cluster, "6", TOLERATION, "nodeSelector: {disk: ssd}")


wrong = {
    "does not tolerate team=data": only_the_selector,
    "disk=None": anywhere,
    "nodeName hides the reasons": by_hand,
    "more than fast-1 has left": still_too_big,
    "they belong to other teams": over_a_colleague,
}
