"""The errors that both kernels end a write with."""

from __future__ import annotations

import errno
import os

from kitlib.api.errors import KitError


class CgroupError(KitError, OSError):
    """A write, or the making or removing of a cgroup, that the kernel refuses.

    Attributes:
        errno: error number of the system call.
        path: path of the cgroup.
        file: its name, or "".
        value: the written value.
    """

    def __init__(self, number: int, path: str, file: str = "", value: str = "", why: str = "") -> None:
        self.path, self.file, self.value, self.why = path, file, value, why
        what = f"{path.rstrip('/')}/{file}" if file else path
        wrote = f" (wrote {value!r})" if file and value else ""
        OSError.__init__(self, number, f"{os.strerror(number)}: {what}{wrote}" + (f": {why}" if why else ""))

    def __str__(self) -> str:
        return f"{errno.errorcode[self.errno or 0]} {self.strerror}"
