"""Tests of the effect of a container's command line on CPU, memory, disk and shared memory."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.node.common.workload import FOREVER, Phase
from kitlib.node.simulated.commands import behaviour, behaviour_of, workload_of

MI = 2**20


@pytest.mark.parametrize(
    ("command", "first", "ends"),
    [
        ("sleep 10", Phase(10, 0, MI), True),
        ("sleep infinity", Phase(FOREVER, 0, MI), False),
        ("md5sum /dev/urandom", Phase(FOREVER, 1, 3 * MI), False),
        ("stress-ng --cpu 2 --timeout 5s", Phase(5, 2, 3 * MI, pids=3), True),
        ("stress-ng --vm 1 --vm-bytes 60M --vm-keep", Phase(FOREVER, 1, 63 * MI, pids=3), False),
        ("stress --vm 2 --vm-bytes 100M --vm-hang 1", Phase(FOREVER, 0, 203 * MI, pids=3), False),
        ("stress -c 2 -t 5", Phase(5, 2, 3 * MI, pids=3), True),
        ("nginx -g x", Phase(FOREVER, 0, 3 * MI), False),
        ("timeout 5 sleep 60", Phase(5, 0, MI), True),
    ],
)
def test_commands_are_understood(command, first, ends):
    workload = behaviour(tuple(command.split())).workload
    assert (workload.phases[0], workload.ends, workload.note) == (first, ends, "")


def most(command: tuple[str, ...], name: str) -> int:
    """Return the maximum that a command uses of something, in MiB."""
    return max(getattr(phase, name) for phase in behaviour(command).workload.phases) // MI


SCRIPTS = [
    # script, what it has most of, MiB, whether it ends, its exit code
    ("dd if=/dev/zero of=/tmp/f bs=1M count=300; sleep inf", "disk", 300, False, 0),
    ("dd if=/dev/zero of=/tmp/f bs=1M count=300; sleep inf", "cache", 300, False, 0),
    ("head -c 500M /dev/zero > /tmp/f", "disk", 500, True, 0),
    ("fallocate -l 1G /tmp/f && sleep 5", "disk", 1024, True, 0),
    ("fallocate -l 1G /tmp/f && sleep 5", "cache", 0, True, 0),
    ("cat /dev/zero | head -c 100M | tail", "memory", 101, True, 0),
    ("head -c 40M /dev/zero | tee /tmp/a > /tmp/b; rm /tmp/a; sleep 1; exit 4", "disk", 80, True, 4),
    ("x=$(head -c 200M /dev/zero | tr '\\0' x); sleep 10", "memory", 203, True, 0),
    ("yes > /dev/null", "memory", 3, False, 0),
    ("for i in $(seq 3); do dd if=/dev/zero of=/tmp/f$i bs=1M count=10; sleep 1; done", "disk", 30, True, 0),
    (
        "i=0; while [ $i -lt 4 ]; do head -c 5M /dev/zero >> /tmp/f; i=$((i+1)); done; false",
        "disk",
        20,
        True,
        1,
    ),
    ("sleep 3 & stress --vm 1 --vm-bytes 100M -t 2 & wait", "memory", 107, True, 0),
    ("if [ -e /nowhere ]; then stress -c 4; elif true; then sleep 2; fi", "cpus", 0, True, 0),
]


@pytest.mark.parametrize(("script", "name", "size", "ends", "code"), SCRIPTS)
def test_a_script_is_followed(script, name, size, ends, code):
    workload = behaviour(("sh", "-c", script)).workload
    assert (most(("sh", "-c", script), name), workload.ends, workload.exit_code, workload.note) == (
        size,
        ends,
        code,
        "",
    )


@pytest.mark.parametrize(
    "command",
    [
        ("tail", "/dev/zero"),
        ("sh", "-c", "x=a; while :; do x=$x$x; done"),
        ("sh", "-c", "cat /dev/zero | grep x"),
        ("python3", "-c", "a = []\nwhile True:\n    a.append(' ' * 10**6)"),
        ("perl", "-e", 'while(1){push @a, "x" x 1000000}'),
    ],
)
def test_a_program_that_grows_without_end_outgrows_every_machine(command):
    workload = behaviour(command).workload
    sizes = [phase.memory for phase in workload.phases]
    assert sizes == sorted(sizes)
    assert (sizes[-1] > 2**44, workload.ends, workload.note) == (True, False, "")


@pytest.mark.parametrize(
    ("command", "memory"),
    [
        (("python3", "-c", "import time\na = 'a' * 500_000_000\ntime.sleep(60)"), 486),
        (("python", "-c", "x = bytearray(100 * 1024 * 1024); import time; time.sleep(5)"), 110),
        (("python3", "-c", "for i in range(3):\n    a = b'x' * (50 << 20)"), 60),
        (("perl", "-e", '$x = "a" x (500*1024*1024); sleep 100'), 510),
    ],
)
def test_one_liners_allocate(command, memory):
    assert (most(command, "memory"), behaviour(command).workload.note) == (memory, "")


def test_files_that_are_read_twice_become_active_page_cache():
    text = "head -c 100M /dev/zero >/tmp/f; sleep 1; cat /tmp/f >/dev/null; sleep 1; cat /tmp/f >/dev/null; sleep 1"
    sleeping = [p for p in behaviour(("sh", "-c", text)).workload.phases if p.memory == MI]
    assert [(p.cache // MI, p.active // MI) for p in sleeping] == [(100, 0), (100, 0), (100, 100)]


def test_shared_memory_without_a_volume_is_full_at_64_mebibytes():
    workload = behaviour(("sh", "-c", "dd if=/dev/zero of=/dev/shm/f bs=1M count=300 || exit 7")).workload
    assert workload.phases[-1].tmpfs == (("", 64 * MI),)
    assert workload.exit_code == 7


def test_a_loop_goes_on_for_ever_without_being_written_out():
    workload = behaviour(("sh", "-c", "sleep 3; while true; do timeout 2 yes >/dev/null; sleep 4; done")).workload
    assert [(p.seconds, p.cpus) for p in workload.phases] == [(3, 0), (2, 1), (4, 0)]
    assert (workload.repeats, workload.ends) == (1, False)


def test_a_script_runs_one_after_another():
    workload = behaviour(("sh", "-c", "sleep 20; exec stress-ng --vm 1 --vm-bytes 480M --vm-keep")).workload
    assert [p.seconds for p in workload.phases] == [20, FOREVER]
    assert workload.phases[1].memory == 483 * MI


@pytest.mark.parametrize(
    ("script", "tidying", "code"),
    [
        ("sleep infinity", FOREVER, 0),
        ("while :; do sleep 1; done", FOREVER, 0),
        ("nginx & wait", FOREVER, 0),
        ("echo a; nginx", 0.0, 0),
        ("exec nginx", 0.0, 0),
        ("trap 'echo bye; sleep 3; exit 0' TERM; sleep infinity & wait", 3.0, 0),
        ("trap 'exit 3' TERM; sleep infinity", FOREVER, 0),
        ("trap '' TERM; sleep infinity & wait", FOREVER, 0),
        ("trap '' TERM; exec nginx", FOREVER, 0),
        ("trap 'exit 5' TERM; exec sleep infinity", FOREVER, 0),
        ("trap 'exit 5' SIGTERM; while :; do sleep 1; done", 0.0, 5),
        ("trap 'echo no' TERM; while :; do sleep 1; done", FOREVER, 0),
        ("trap 'sleep 3' INT; sleep infinity", FOREVER, 0),
    ],
)
def test_a_shell_as_process_1_ends_by_its_trap_or_the_program_that_it_becomes(script, tidying, code):
    workload = behaviour(("sh", "-c", script)).workload
    assert (workload.tidying, workload.tidy_code, workload.ends) == (tidying, code, False)


@pytest.mark.parametrize(
    ("words", "tidying", "code"),
    [
        ("sleep infinity", FOREVER, 0),
        ("stress --cpu 1", FOREVER, 0),
        ("tail -f /dev/null", FOREVER, 0),
        ("nginx", 0.0, 0),
        ("env MODE=a nginx", 0.0, 0),
        ("agnhost pause", 0.0, 2),
        ("tini -- sleep infinity", 0.0, 143),
        ("timeout 1000 sleep infinity", 0.0, 143),
        ("timeout 1000 nginx", 0.0, 0),
        ("./server --port 80", 0.0, 143),
    ],
)
def test_sigterm_ends_process_1_by_its_handler_only(words, tidying, code):
    """pid_namespaces(7); a program that is not known is taken for a server."""
    workload = behaviour(tuple(words.split())).workload
    assert (workload.tidying, workload.tidy_code) == (tidying, code)


@pytest.mark.parametrize("spec", [{"shareProcessNamespace": True}, {"hostPID": True}])
def test_sigterm_ends_whatever_is_not_process_1(spec):
    container = {"name": "c", "image": "busybox", "command": ["sleep", "infinity"]}
    pod = from_dict({"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}, Pod)
    workload = workload_of(pod, pod.spec.containers[0])
    assert (workload.tidying, workload.tidy_code) == (0.0, 143)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("java", "-Xmx2g", "-jar", "app.jar"), "java -Xmx2g -jar app.jar"),
        (("sh", "-c", "frobnicate --all; sleep 3"), "frobnicate --all"),
        (("python3", "-c", "import torch; torch.ones(3).cuda()"), "python3"),
    ],
)
def test_a_program_that_is_not_known_idles_and_says_so(command, words):
    workload = behaviour(command).workload
    assert (workload.phases[-1].seconds, workload.phases[-1].cpus) == (FOREVER, 0)
    assert workload.note.startswith("Unknown command ") and words in workload.note


def pod(container: dict[str, Any], volumes: list[dict[str, Any]] | None = None, **annotations: str) -> Pod:
    spec = {"containers": [{"name": "c", **container}], "volumes": volumes or []}
    metadata = {"name": "p", "annotations": {f"kitlib.dev/{key}": value for key, value in annotations.items()}}
    return from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, Pod)


IMAGES = [
    # container, the most memory in MiB, whether it ends
    ({"image": "polinux/stress", "args": ["--vm", "1", "--vm-bytes", "150M"]}, 153, False, "stress"),
    ({"image": "vish/stress", "args": ["-mem-total", "150Mi"]}, 153, False, "stress"),
    ({"image": "docker.io/library/busybox:1.36"}, 3, True, "sh"),
    ({"image": "busybox@sha256:00", "args": ["sleep", "60"]}, 1, True, "sleep"),
    ({"image": "nginx:1.27"}, 3, False, "nginx"),
    ({"image": "registry.k8s.io/e2e-test-images/agnhost:2.40", "args": ["netexec"]}, 3, False, "agnhost"),
    ({"image": "registry.k8s.io/pause:3.10"}, 0, False, "pause"),
]


@pytest.mark.parametrize(("container", "memory", "ends", "name"), IMAGES)
def test_an_image_says_what_runs_where_the_manifest_does_not(container, memory, ends, name):
    made = pod(container)
    workload = workload_of(made, made.spec.containers[0])
    assert max(p.memory for p in workload.phases) // MI == memory
    assert (workload.ends, workload.name, workload.note) == (ends, name, "")


def test_an_unknown_image_idles_and_says_so():
    made = pod({"image": "example/shop:1"})
    assert workload_of(made, made.spec.containers[0]).note == 'Image "example/shop:1" is not known: its program idles'


def test_volumes_take_what_is_written_to_them():
    volumes = [
        {"name": "disk", "emptyDir": {}},
        {"name": "fast", "emptyDir": {"medium": "Memory", "sizeLimit": "30Mi"}},
        {"name": "far", "persistentVolumeClaim": {"claimName": "x"}},
    ]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("disk", "fast", "far")]
    script = "for d in disk fast far; do head -c 50M /dev/zero > /$d/f; done; sleep 9"
    made = pod({"image": "busybox", "command": ["sh", "-c", script], "volumeMounts": mounts}, volumes)
    last = workload_of(made, made.spec.containers[0]).phases[-1]
    assert (last.volume // MI, last.tmpfs, last.disk, last.cache // MI) == (50, (("fast", 30 * MI),), 0, 100)


def test_a_declaration_keeps_the_commands_trap():
    made = pod({"image": "busybox", "command": ["sh", "-c", "trap '' TERM; sleep inf"]}, **{"workload.c": "memory=9Mi"})
    workload = workload_of(made, made.spec.containers[0])
    assert (workload.phases, workload.tidying) == ((Phase(FOREVER, memory=9 * MI),), FOREVER)


def test_variables_of_the_container_are_known_to_its_script():
    made = pod({"image": "busybox", "command": ["sh", "-c", "sleep ${LONG:-1}"]})
    container = made.spec.containers[0]
    assert [behaviour_of(made, container, env).workload.phases[0].seconds for env in ({}, {"LONG": "7"})] == [1, 7]
