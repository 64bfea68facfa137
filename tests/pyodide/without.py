"""Makes this Python refuse what Pyodide cannot do; imported before anything else of a run.

Pyodide is CPython compiled to WebAssembly: no threads, no sockets, no processes, no shared libraries opened by hand,
and modules of the standard library that are not there. What is imported here fails at the import; what slips through (a
C extension that has the module linked in) fails at the use, by an audit hook. `threading` can be imported there, and
`logging` imports it; starting a thread fails. Source: Pyodide's documentation, "Pyodide Python compatibility".
"""

from __future__ import annotations

import _thread
import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any

NOT_THERE = (
    "curses _curses dbm ensurepip fcntl grp idlelib nis pwd readline resource syslog termios tkinter turtle venv"
)
OF_NO_USE = (
    "multiprocessing _multiprocessing subprocess _posixsubprocess concurrent socket _socket select selectors "
    "ssl _ssl asyncio socketserver http urllib3 pty mmap _posixshmem"
)
NOT_INSTALLED = "ctypes _ctypes docker requests kubernetes pandas plotly ipywidgets anywidget IPython jupyterlab ryml"
LENIENT = os.environ.get("KITLIB_WITHOUT") == "use"
"""Modules of no use may be imported, as in Pyodide; using them still fails. For rooms above the pure ones."""
MISSING = frozenset(f"{NOT_THERE} {'' if LENIENT else OF_NO_USE} {NOT_INSTALLED}".split())
FORBIDDEN = ("socket.", "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "_thread.start")


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r} in Pyodide", name=name)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(FORBIDDEN) or event == "ctypes.dlopen":
        raise OSError(f"{event} is not possible in Pyodide")


def _no_thread(*arguments: Any, **named: Any) -> None:
    raise RuntimeError("can't start new thread")


_thread.start_new_thread = _thread.start_new = _thread.start_joinable_thread = _no_thread  # the last since 3.13
for name in ("grp", "pwd"):  # Python 3.13's site imports them
    sys.modules.pop(name, None)
loaded = sorted(MISSING.intersection(sys.modules))
if loaded:
    raise RuntimeError(f"already loaded, so it cannot be kept out: {', '.join(loaded)}")
sys.meta_path.insert(0, _Finder())
sys.addaudithook(_refuse)
