"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: app-4, labels: {{app: app}}}}
spec:
  {more}
  containers: [{{name: main, image: "example/app:1", command: [sleep, infinity],
                 resources: {{requests: {{cpu: 100m}}}}}}]
"""
ONE = "{{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: {when}, labelSelector: {{matchLabels: {{app: app}}}}}}"


def rule(key, when="DoNotSchedule", skew=1):
    return ONE.format(key=key, when=when, skew=skew)


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def again(cluster, *rules, more="restartPolicy: Always"):
    cluster.delete("Pod", "app-4")
    cluster.apply(POD.format(more=f"{more}\n  topologySpreadConstraints: [{', '.join(rules)}]"))
    cluster.advance(15)


def reference(cluster):
    again(cluster, rule(ZONE), rule(HOST, "ScheduleAnyway"))


def only_waiting(cluster):
    cluster.advance(600)


def the_zone_is_a_wish(cluster):
    again(cluster, rule(ZONE, "ScheduleAnyway"), rule(HOST))


def no_host_rule(cluster):
    again(cluster, rule(ZONE))


def by_hand(cluster):
    again(cluster, rule(ZONE), rule(HOST), more="nodeName: b-1")


wrong = {
    "each rule leaves nodes over": only_waiting,
    "losing a zone is worse than losing a host": the_zone_is_a_wish,
    "steers pods to empty hosts through the score": no_host_rule,
    "the next replica is stuck again": by_hand,
}
