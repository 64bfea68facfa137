"""Options of commands about a cluster; the end of their process."""

from __future__ import annotations

import subprocess
import sys

AT_EXIT = """
import atexit, gc
of_python = gc.get_freeze_count()  # 3.12 begins with some
from kitlib.commands.dump_options import no_collection_at_exit
atexit.register(lambda: print(gc.get_freeze_count() > of_python))
no_collection_at_exit()
no_collection_at_exit()
print(gc.get_freeze_count() - of_python)
"""


def test_the_last_collection_finds_no_objects() -> None:
    ended = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["0", "True"]
