"""The files and declared names of Kubernetes' source, as data: what the course may name.

    python tests/notebooks/upstream_names.py SOURCE RELEASE COMMIT

writes `upstream_names.json.gz` beside this file: the paths of the Go files below pkg, plugin, cmd and staging, and the
names of functions, methods, types, constants, variables, interface methods and exported fields; no text of the source.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

DATA = Path(__file__).with_name("upstream_names.json.gz")
ROOTS = ("pkg", "plugin", "cmd", "staging/src/k8s.io")
_DECLARED = re.compile(
    r"^func (?:\([^)]*\) )?([A-Za-z_]\w*)|^type ([A-Za-z_]\w*)"
    r"|^\t?(?:const |var )?([A-Za-z_]\w*)(?:,\s*\w+)*(?: [\w.\[\]*]+)? +="
    r"|^\t([A-Za-z_]\w*)\(|^\t([A-Z]\w*) +[\w.\[\]*]+",
    re.MULTILINE,
)


def lists_of(source: Path) -> tuple[set[str], set[str]]:
    """Return the paths and the declared names of a checkout, without generated files; names without those of tests."""
    files: set[str] = set()
    names: set[str] = set()
    for path in (path for root in ROOTS for path in (source / root).rglob("*.go")):
        relative = path.relative_to(source).as_posix()
        if "/testing" in relative or "/testdata" in relative or path.name.startswith("zz_generated"):
            continue
        files.add(relative)
        if not path.name.endswith(("_test.go", ".pb.go")):
            found = _DECLARED.findall(path.read_text(errors="replace"))
            names |= {name for groups in found for name in groups if name}
    return files, names


def main(source: str, release: str, commit: str) -> None:
    """Write the data file."""
    files, names = lists_of(Path(source))
    data = {"release": release, "commit": commit, "files": sorted(files), "names": sorted(names)}
    DATA.write_bytes(gzip.compress(json.dumps(data).encode(), 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
