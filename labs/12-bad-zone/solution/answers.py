"""The reference solution, and what learners try first."""

SHOP = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: shop, labels: {{app: shop}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec:
      {more}
      topologySpreadConstraints:
      - {{maxSkew: {skew}, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: {when},
         nodeTaintsPolicy: {policy}, labelSelector: {{matchLabels: {{app: shop}}}}}}
      containers:
      - name: main
        image: example/shop:1
        command: [sleep, infinity]
        resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}
"""


def again(cluster, *, replicas=4, more="restartPolicy: Always", skew=1, when="DoNotSchedule", policy="Ignore"):
    cluster.delete("Deployment", "shop")
    cluster.advance(10)
    cluster.apply(SHOP.format(replicas=replicas, more=more, skew=skew, when=when, policy=policy))
    cluster.advance(60)


def reference(cluster):
    again(cluster, policy="Honor")


def only_waiting(cluster):
    cluster.advance(900)


def tolerate(cluster):
    again(cluster, more="tolerations: [{key: zone, operator: Exists}]")


def a_wish(cluster):
    again(cluster, when="ScheduleAnyway")


def fewer(cluster):
    again(cluster, replicas=2)


wrong = {
    "which policy says that taints count": only_waiting,
    "sends pods into the broken zone": tolerate,
    "say which nodes it counts": a_wish,
    "the shop needs four": fewer,
}
