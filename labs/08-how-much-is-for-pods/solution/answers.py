"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: big, labels: {{app: big}}}}
spec:
  containers:
  - name: main
    image: example/big:1
    command: [sleep, infinity]
    resources: {{requests: {{{requests}}}}}
"""


def again(cluster, requests):
    cluster.delete("Pod", "big")
    cluster.apply(POD.format(requests=requests))
    cluster.advance(20)


def reference(cluster):
    again(cluster, "cpu: 3150m, memory: 6400Mi")


def only_waiting(cluster):
    cluster.advance(300)


def without_eviction(cluster):
    again(cluster, "cpu: 3150m, memory: 6912Mi")


def too_little(cluster):
    again(cluster, "cpu: 3150m, memory: 5Gi")


def no_memory(cluster):
    again(cluster, "cpu: 3150m")


def too_much_cpu(cluster):
    again(cluster, "cpu: 3250m, memory: 6400Mi")


wrong = {
    "subtract the reservations": without_eviction,
    "7168 MiB": only_waiting,
    "what did you subtract twice": too_little,
    "big must ask for its memory": no_memory,
    "does the CPU": too_much_cpu,
}
