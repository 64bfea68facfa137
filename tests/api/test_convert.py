"""Threads that meet a type for the first time at the same moment; in processes of their own, which may end."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOGETHER = """
import sys, threading
from kitlib.api.serialize import load
sys.setswitchinterval(1e-5)
text = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: x}]}}"
start, found = threading.Barrier(8), []
def read():
    start.wait()
    found.append(load(text)[0].metadata.name)
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(found)
"""


def test_threads_that_read_the_first_manifest_together_all_read_it() -> None:
    """Without `meet` Python ended here with a segmentation fault every time."""
    done = subprocess.run([sys.executable, "-c", TOGETHER], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{['a'] * 8}\n"), done.stderr[-500:]


def test_no_other_module_lets_msgspec_meet_a_type_unguarded() -> None:
    others = [path for path in (ROOT / "kitlib").rglob("*.py") if path.name != "convert.py"]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in others
        for match in re.finditer(
            r"msgspec\.convert\(|^ +.*(?:json\.Decoder\(\w|json\.decode\(.*type=).*", path.read_text(), re.M
        )
    ]
    assert not found
