"""Texts of events: their parts and their meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kitlib
from kitlib.advisor.message import decode, in_words, meaning_of
from kitlib.api.errors import KitError
from kitlib.scheduler.plugins import inter_pod_affinity, node_ports, node_volume_limits

TIMED_OUT = 'running PreBind plugin "VolumeBinding": binding volumes: timed out waiting for the condition'


def test_an_error_of_a_plugin_is_a_message_too() -> None:
    parts = decode(TIMED_OUT)
    assert (parts["point"], parts["plugin"]) == ("PreBind", "VolumeBinding")
    assert "look at the claims' events and at the provisioner" in " ".join(in_words(parts))


def test_reasons_have_a_plugin_a_meaning_and_a_next_step() -> None:
    lines = in_words(decode("0/3 nodes are available: 3 Insufficient cpu."))
    assert "Filters: 3 × Insufficient cpu [NodeResourcesFit]" in lines[1]
    assert "kubectl describe node" in lines[2]


@pytest.mark.parametrize(
    ("message", "comment"),
    [
        ("0/17 nodes are available: 11 Insufficient cpu, 3 Insufficient memory, 9 Too many pods.", "23 reasons for 17"),
        ("0/5 nodes are available: 4 Insufficient cpu.", "1 nodes have no reason here"),
    ],
)
def test_counts_that_do_not_add_up_are_explained(message: str, comment: str) -> None:
    assert comment in in_words(decode(message))[-1]


@pytest.mark.parametrize(
    "reason",
    [
        node_ports.NOT_FREE,
        node_volume_limits.EXCEEDED,
        inter_pod_affinity.AFFINITY,
        inter_pod_affinity.ANTI_AFFINITY,
        inter_pod_affinity.EXISTING,
    ],
)
def test_the_plugins_own_reasons_are_known(reason: str) -> None:
    assert meaning_of(reason) is not None


def test_every_wording_of_every_release_is_known() -> None:
    folder = Path(kitlib.__file__).parent
    files = [*(folder / "scheduler/plugins").glob("*.py"), *(folder / "api").glob("release*.py")]
    written = {text for file in files for text in re.findall(r'"(node\(s\) [^"]*)"', file.read_text())}
    assert len(written) > 15
    assert not [text for text in written if meaning_of(text.replace("{{", "{")) is None]


def test_other_texts_are_refused() -> None:
    with pytest.raises(KitError, match="not a FailedScheduling message"):
        decode("all is well")
