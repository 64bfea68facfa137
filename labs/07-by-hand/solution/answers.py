"""The reference solution, and what learners try first."""

WANTED = 512 * 2**20


def cgroup_of(cluster, kind):
    pod = cluster.get("Pod", "import", "default")
    tree = cluster.node("node-1").tree()
    return next(c.path for c in tree.of_pod(pod.metadata.uid) if c.kind == kind)


def write(cluster, kind):
    node, path = cluster.node("node-1"), cgroup_of(cluster, kind)
    tree = node.tree()
    if "memory.memsw.limit_in_bytes" in tree[path]:  # no swap on v1: memory and swap together come first
        node.write(path, "memory.memsw.limit_in_bytes", str(WANTED))
    node.write(path, "memory.limit_in_bytes" if tree.version == 1 else "memory.max", str(WANTED))


def resize(cluster, memory="512Mi"):
    amounts = {"cpu": "500m", "memory": memory}
    cluster.resize("import", {"import": {"requests": amounts, "limits": amounts}})
    cluster.advance(20)


def reference(cluster):
    write(cluster, "pod")
    write(cluster, "container")
    resize(cluster)


def only_the_container(cluster):
    write(cluster, "container")


def only_the_pod(cluster):
    write(cluster, "pod")


def a_new_pod(cluster):
    cluster.delete("Pod", "import")
    cluster.advance(10)
    cluster.apply("""
apiVersion: v1
kind: Pod
metadata: {name: import, labels: {app: import}, annotations: {kitlib.dev/workload.import: memory=200Mi}}
spec:
  containers:
  - name: import
    image: example/import:1
    resources: {limits: {cpu: 500m, memory: 512Mi}}
""")
    cluster.advance(20)


wrong = {
    "the lower of the two limits counts": only_the_container,
    "write into the container's own cgroup too": only_the_pod,
    "it must not start again": a_new_pod,
}
