"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: shop
  labels: {{app: shop}}
  annotations: {{kitlib.dev/workload.server: memory=100Mi, kitlib.dev/workload.shipper: 2s; memory={work}}}
spec:
  containers:
  - name: server
    image: example/server:1
    resources: {{requests: {{cpu: 100m, memory: 160Mi}}, limits: {{cpu: 500m, memory: {server}}}}}
  - name: shipper
    image: example/shipper:1
    resources: {{requests: {{cpu: 50m, memory: 32Mi}}, limits: {{cpu: 200m{shipper}}}}}
"""


def again(cluster, *, server="160Mi", shipper=", memory: 96Mi", work="60Mi", seconds=150):
    cluster.delete("Pod", "shop")
    cluster.apply(POD.format(server=server, shipper=shipper, work=work))
    cluster.advance(seconds)


def reference(cluster):
    again(cluster)


def only_waiting(cluster):
    cluster.advance(600)


def the_wrong_container(cluster):
    again(cluster, server="512Mi", shipper=", memory: 32Mi")


def boundless(cluster):
    again(cluster, shipper="")


def less_work(cluster):
    again(cluster, work="20Mi")


def impatient(cluster):
    again(cluster, seconds=20)


wrong = {
    "shipper reaches its own limit": only_waiting,
    "the server was not the problem": the_wrong_container,
    "be generous, not boundless": boundless,
    "change the limit, not the work": less_work,
    "let time pass": impatient,
}
