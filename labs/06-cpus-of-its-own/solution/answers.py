"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: trader, labels: {{app: trader}}}}
spec:
  containers:
  - name: main
    image: example/trader:1
    command: [stress-ng, --cpu, "1"]
    resources: {resources}
"""


def again(cluster, resources):
    cluster.delete("Pod", "trader")
    cluster.advance(10)
    cluster.apply(POD.format(resources=resources))
    cluster.advance(30)


def reference(cluster):
    again(cluster, "{limits: {cpu: '2', memory: 256Mi}}")


def only_waiting(cluster):
    cluster.advance(300)


def only_requests(cluster):
    again(cluster, "{requests: {cpu: '2', memory: 256Mi}}")


def one_cpu(cluster):
    again(cluster, "{limits: {cpu: '1', memory: 256Mi}}")


def no_noise(cluster):
    cluster.delete("Pod", "noise")
    reference(cluster)


wrong = {
    "half a CPU cannot be exclusive": only_waiting,
    "exclusive CPUs are for Guaranteed pods": only_requests,
    "one exclusive CPU is not two": one_cpu,
    "no pod default/noise": no_noise,
}
