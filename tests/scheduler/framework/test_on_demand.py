"""Tests of plugins that are loaded on demand: the plugin gets the profile's arguments, and stays the same object."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.framework.on_demand import on_demand
from kitlib.scheduler.plugins.descriptions import VolumeBindingDescription
from kitlib.scheduler.plugins.volume_binding import VolumeBinding


def test_a_loaded_plugin_has_the_arguments_of_the_profile() -> None:
    made = on_demand(VolumeBindingDescription)({"bindTimeoutSeconds": 7})
    plugin = made.load()
    assert isinstance(plugin, VolumeBinding)
    assert plugin.arguments == {"bindTimeoutSeconds": 7}
    assert made.load() is plugin


def test_wrong_arguments_are_refused_before_the_plugin_is_loaded() -> None:
    with pytest.raises(KitError, match="bindTimeoutSeconds"):
        on_demand(VolumeBindingDescription)({"bindTimeoutSeconds": -1})


def test_two_profiles_do_not_share_a_plugin() -> None:
    kind = on_demand(VolumeBindingDescription)
    assert kind().load() is not kind().load()
