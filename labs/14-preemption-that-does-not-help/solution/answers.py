"""The reference solution, and what learners try first."""

URGENT = """
apiVersion: v1
kind: Pod
metadata: {{name: urgent, labels: {{app: urgent}}}}
spec:
  {more}
  containers: [{{name: main, image: "example/urgent:1", command: [sleep, infinity],
                 resources: {{requests: {{cpu: "{cpu}"}}}}}}]
"""


def again(cluster, more, cpu="2"):
    cluster.delete("Pod", "urgent")
    cluster.apply(URGENT.format(more=more, cpu=cpu))
    cluster.advance(90)


def reference(cluster):
    again(cluster, "priorityClassName: pressing")


def only_waiting(cluster):
    cluster.advance(900)


def no_priority(cluster):
    again(cluster, "restartPolicy: Always")


def to_the_other_node(cluster):
    again(cluster, "tolerations: [{operator: Exists}]")


def smaller(cluster):
    again(cluster, "priorityClassName: patient", cpu="100m")


def by_hand(cluster):
    for name in ("batch-1", "batch-2"):
        cluster.delete("Pod", name)
    cluster.advance(90)


wrong = {
    "never preempts": only_waiting,
    "only pods of lower priority": no_priority,
    "node-2 is for GPU work": to_the_other_node,
    "it needs 2 CPUs": smaller,
    "leave the removing to the scheduler": by_hand,
}
