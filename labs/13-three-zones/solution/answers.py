"""The reference solution, and what learners try first."""

STORE = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: store, labels: {{app: store}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: store}}}}
  template:
    metadata: {{labels: {{app: store}}}}
    spec:
      {more}
      containers:
      - name: main
        image: example/store:1
        command: [sleep, infinity]
        resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}
"""
SPREAD = (
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, MORE"
    "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: store}}}]"
)


def again(cluster, more, replicas=3, seconds=180):
    cluster.delete("Deployment", "store")
    cluster.advance(10)
    cluster.apply(STORE.format(more=more, replicas=replicas))
    cluster.advance(seconds)


def reference(cluster):
    again(cluster, SPREAD.replace("MORE", "minDomains: 3, "))


def only_waiting(cluster):
    cluster.advance(600)


def a_zone_by_name(cluster):
    again(cluster, "nodeSelector: {topology.kubernetes.io/zone: zone3}")


def impatient(cluster):
    again(cluster, SPREAD.replace("MORE", "minDomains: 3, "), seconds=5)


def fewer_pods(cluster):
    again(cluster, SPREAD.replace("MORE", "minDomains: 3, "), replicas=2)


wrong = {
    "what says that there must be three": only_waiting,
    "use minDomains": a_zone_by_name,
    "a pending pod is what the autoscaler waits for": impatient,
    "keep replicas at 3": fewer_pods,
}
