"""Metadata of a package that depend on the place of its release: addresses of the project, and the README's links.

A workflow of GitHub names its repository in GITHUB_REPOSITORY (and GITHUB_SERVER_URL, GITHUB_REF_NAME); by hand, set it
to `OWNER/NAME`. Without it a package has no addresses, and the README's links stay relative. A wheel that is
built from a source archive takes both from the archive.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)]+)\)")


class MetadataHook(MetadataHookInterface):
    """Fills `urls` and `readme` of the project's table."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both fields."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("GITHUB_REPOSITORY", "")
        if repository:
            server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
            home, revision = f"{server}/{repository}", os.environ.get("GITHUB_REF_NAME") or "HEAD"
            metadata["urls"] = urls(home, revision)
            text = absolute(text, home, revision)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def urls(home: str, revision: str) -> dict[str, str]:
    """Return the addresses that a package index shows.

    Args:
        home: the repository's address.
        revision: a branch, tag or commit.
    """
    return {
        "Source": home,
        "Documentation": f"{home}/tree/{revision}/kitlib/docs",
        "Changelog": f"{home}/blob/{revision}/.github/CHANGELOG.md",
        "Issues": f"{home}/issues",
        "Security": f"{home}/blob/{revision}/.github/SECURITY.md",
    }


def absolute(text: str, home: str, revision: str) -> str:
    """Return Markdown with addresses in place of relative links: a package index has none of the files."""
    return _RELATIVE.sub(
        lambda m: f"{m[1]}{m[2]}({home}/{'raw' if m[1] else 'blob'}/{revision}/{m[3].removeprefix('./')})", text
    )
