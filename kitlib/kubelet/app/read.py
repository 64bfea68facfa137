"""Reads the settings of a kubelet in each form that a user has, and validates them as the kubelet does at its start.

Source: cmd/kubelet/app/server.go (NewKubeletCommand).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kitlib.api.boundary import guarded
from kitlib.api.release import Release
from kitlib.kubelet.app.settings_validation import validate
from kitlib.kubelet.config.settings import KubeletSettings, SettingsError


@guarded("the kubelet's settings")
def read_settings(source: Any = (), *, release: Release | None = None) -> KubeletSettings:
    """Return validated settings from flags, from a KubeletConfiguration, from both, or from settings.

    Args:
        source: a list of flags (or one string of them), a mapping or YAML text with configuration fields, the path of
            such a file, or `KubeletSettings`.
        release: the release with the rules of validation; None = the latest.

    Raises:
        SettingsError: the kubelet's messages.
    """
    made = _parsed(source)
    problems = validate(made, release or Release.followed())
    if problems:
        raise SettingsError(problems)
    return made


def _parsed(source: Any) -> KubeletSettings:
    if isinstance(source, KubeletSettings):
        return source
    if not isinstance(source, Mapping) and not source:
        return KubeletSettings()
    from kitlib.kubelet.config.parsing import from_configuration, from_flags, load_file, load_text

    if isinstance(source, Mapping):
        return from_configuration(source)
    if isinstance(source, os.PathLike):
        return from_configuration(load_file(os.fspath(source)))
    if not isinstance(source, str):
        return from_flags(list(source))
    text = source.strip()
    if text.startswith("--") or not text:
        return from_flags(text.split())
    if "\n" in text or ": " in text or text.startswith("{"):
        return from_configuration(load_text(text, "KubeletConfiguration"))
    return from_configuration(load_file(text))
