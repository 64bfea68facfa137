"""Commands as people write them into manifests: each does what it does in a container, or says that it is not known.

No limit of the kit and no construct that it does not read may look like a failure of the program.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.field.test_enforcement import MI, pod, read, simulated

LIMITS = {"memory": "100Mi", "cpu": "1"}
STRESS_NG = {"image": "alexeiled/stress-ng", "command": ["stress-ng", "--vm", "1", "--vm-bytes", "80%"]}
AGNHOST = {"image": "registry.k8s.io/e2e-test-images/agnhost:2.40", "args": ["stress", "--mem-total", "300Mi"]}


def sh(text: str, shell: str = "sh") -> dict[str, Any]:
    return {"command": [shell, "-c", text]}


def ends(seconds: float = 12, **given: Any) -> int | None:
    """Return the exit code of the first end; None = the container runs."""
    with simulated(pod(limits=LIMITS, restartPolicy="Never", **given)) as cluster:
        cluster.advance(seconds)
        assert not [one.message for one in cluster.events("p") if "Unknown" in one.message]
        ended = cluster.pod("p").status.container_statuses[0].state.get("terminated")
        return None if ended is None else int(ended["exitCode"])


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (sh("for ((i=0; i<4; i++)); do sleep 1; done; exit $i", "bash"), 4),
        (sh("i=0; while ((i<3)); do ((i++)); sleep 1; done; exit $i", "bash"), 3),
        (sh("i=0; until [ $i -ge 3 ]; do : $((i+=1)); sleep 1; done; exit $i"), 3),
        (sh("let x=2+3; exit $x", "bash"), 5),
        (sh("x=`expr 2 \\* 3`; exit $x"), 6),
        (sh("[[ abc == a* && abc =~ ^ab ]] && exit 7", "bash"), 7),
        (sh("if [[ -f /x && $A == b* ]]; then exit 1; fi; exit 8", "bash"), 8),
        (sh("cat <<EOF > /tmp/a.sh\nexit $((4+5))\nEOF\nsh /tmp/a.sh"), 9),
        (sh("A=1; cat <<'EOF' > /tmp/a.sh\nA=10\nexit $A\nEOF\nsh /tmp/a.sh"), 10),
        (sh("read_it() { grep -q b <<< abc; }; read_it && exit 11", "bash"), 11),
        (sh("while :; do :; done & sleep 3; kill %1; wait; exit 12"), 12),
        (sh("seq 3 | xargs -n 1 echo; exit 13"), 13),
        (sh("python3 - <<EOF\nimport sys\nsys.exit(14)\nEOF"), 14),
        ({"image": "python", "command": ["python", "-c", "raise RuntimeError('x')"]}, 1),
        ({"image": "python", "command": ["python", "-c", "input()"]}, 1),
        (sh("cat /dev/zero | head -c 300m | tail"), 137),
        (sh("yes | tr \\\\n x | head -c 300m | grep n"), 137),
        ({"command": ["memhog", "300m"]}, 137),
        (STRESS_NG, 137),
        (AGNHOST | {"seconds": 70}, 137),
        ({"command": ["nc", "-lk", "-p", "8080"]}, None),
        ({"command": ["watch", "-n", "1", "date"]}, None),
        ({"image": "python", "command": ["python", "-m", "http.server"]}, None),
        (sh("dd if=/dev/zero of=/tmp/f bs=1M count=50; rm /tmp/f; sleep 1000"), None),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_command_does_what_it_does_in_a_container(given: dict[str, Any], code: int | None) -> None:
    assert ends(**given) == code


def test_a_job_that_is_killed_uses_nothing_any_more() -> None:
    command = sh("stress --vm 1 --vm-bytes 50M --vm-hang 0 & sleep 5; kill $!; sleep 1000")
    with simulated(pod(limits=LIMITS, **command)) as cluster:
        cluster.advance(1)
        assert int(read(cluster, "p", "memory.current")) > 50 * MI
        cluster.advance(10)
        assert int(read(cluster, "p", "memory.current")) < 10 * MI


def test_a_loop_per_processor_starts_as_many_as_the_machine_has() -> None:
    command = sh("for i in $(seq $(nproc)); do yes > /dev/null & done; wait")
    with simulated(pod(requests={"cpu": "1"}, **command)) as cluster:
        cluster.advance(5)
        assert int(read(cluster, "p", "pids.current")) == 1 + 1 + 8  # pause, the shell, one for each of 8 CPUs


@pytest.mark.parametrize(
    "given",
    [
        sh("for i in $(seq 1 100000); do echo $i; done; sleep 3600"),
        sh("diff <(echo a) <(echo b); sleep 1000", "bash"),
        sh("echo $(( 1 ? 2 : 3 )); exit 2"),
        {"command": ["sh", "/usr/local/bin/run.sh"]},
        {"command": ["awk", "BEGIN { while (1) { x[i++] = i } }"]},
        sh("python3 -c 'import os; os.fork()'; exit 1"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_not_followed_idles_and_says_so(given: dict[str, Any]) -> None:
    with simulated(pod(limits=LIMITS, **given)) as cluster:
        cluster.advance(5)
        assert "running" in cluster.pod("p").status.container_statuses[0].state
        (event,) = [one.message for one in cluster.events("p") if "Unknown" in one.message]
        assert "it idles (" in event


def test_a_script_of_a_config_map_is_run() -> None:
    volumes = [{"name": "v", "configMap": {"name": "scripts"}}]
    mounts = [{"name": "v", "mountPath": "/scripts"}]
    with Cluster.simulated(1) as cluster:
        script = "#!/bin/sh\nsleep 2\nexit 9\n"
        kind = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"}}
        cluster.apply({**kind, "data": {"run.sh": script}})
        made = pod(command=["sh", "/scripts/run.sh"], volumes=volumes, volumeMounts=mounts, restartPolicy="Never")
        cluster.apply(made)
        cluster.advance(5)
        assert cluster.pod("p").status.container_statuses[0].state["terminated"]["exitCode"] == 9


def test_a_command_of_one_word_with_spaces_is_not_found() -> None:
    """`command: ["sleep 1000"]`: the runtime looks for a program of that name."""
    with simulated(pod(command=["sleep 1000"])) as cluster:
        cluster.advance(2)
        waiting = cluster.pod("p").status.container_statuses[0].state["waiting"]
        assert waiting["reason"] == "RunContainerError"
        assert 'exec: "sleep 1000": executable file not found in $PATH' in waiting["message"]
