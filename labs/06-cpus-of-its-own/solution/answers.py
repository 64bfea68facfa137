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


def small(cluster):
    """A real node has two CPUs here, and one of them is the system's."""
    return cluster.list("Node")[0].status.capacity["cpu"].value() <= 2


def reference(cluster):
    again(cluster, f"{{limits: {{cpu: '{1 if small(cluster) else 2}', memory: 256Mi}}}}")


def only_waiting(cluster):
    cluster.advance(300)


def only_requests(cluster):
    again(cluster, f"{{requests: {{cpu: '{1 if small(cluster) else 2}', memory: 256Mi}}}}")


def one_cpu(cluster):
    again(cluster, "{limits: {cpu: '1', memory: 256Mi}}")


def too_many(cluster):
    again(cluster, "{limits: {cpu: '2', memory: 256Mi}}")


def no_noise(cluster):
    cluster.delete("Pod", "noise")
    reference(cluster)


wrong = {
    "half a CPU cannot be exclusive": only_waiting,
    "exclusive CPUs are for Guaranteed pods": only_requests,
    "one exclusive CPU is not two": one_cpu,
    "no pod default/noise": no_noise,
}
# with two CPUs, one exclusive CPU is all there is, and two are more
wrong_on_real_nodes = {
    **{text: action for text, action in wrong.items() if action is not one_cpu},
    "does what it asks for fit": too_many,
}
