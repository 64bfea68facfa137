"""The badge that opens a published checkout on Binder; its address is derived from a git remote of the checkout."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import quote

from kitlib.api.errors import KitError

HOSTS = {"github.com": "gh", "gitlab.com": "gl"}
"""Host -> its name in mybinder.org's addresses. Source: BinderHub's repoproviders."""
_REMOTE = re.compile(r"(?:\w+://)?(?:[^@/]+@)?(?P<host>[^/:]+)(?::\d+/|[:/])(?P<path>.+?)(?:\.git)?/?$")


def binder_badge(checkout: Path, remote: str = "origin") -> str:
    """Return the badge in Markdown for the repository that a git remote of the checkout names.

    Raises:
        KitError: the remote does not exist, or Binder does not support its host.
    """
    command = ["git", "-C", str(checkout), "remote", "get-url", remote]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise KitError(f"git: {error.strerror or error}") from error
    if done.returncode:
        raise KitError(
            f"{checkout}: no git remote {remote!r}: the badge needs the address where the course is published"
        )
    return badge_of(done.stdout.strip())


def badge_of(address: str) -> str:
    """Return the badge for `https://github.com/owner/name` or `git@github.com:owner/name.git`."""
    found = _REMOTE.match(address)
    provider = HOSTS.get(found["host"].lower()) if found else None
    if found is None or provider is None or "/" not in found["path"]:
        raise KitError(f"{address}: must be a repository on {' or '.join(HOSTS)}, which mybinder.org can open")
    path = found["path"] if provider == "gh" else quote(found["path"], safe="")
    target = f"https://mybinder.org/v2/{provider}/{path}/HEAD?urlpath=lab/tree/notebooks/00-start-here.ipynb"
    return f"[![Binder](https://mybinder.org/badge_logo.svg)]({target})"
