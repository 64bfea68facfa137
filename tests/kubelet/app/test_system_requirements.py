"""The kubelet starts only where its controllers are mounted."""

import pytest

from kitlib.kubelet.app.system_requirements import MountPoint, parse_mounts, validate_system_requirements
from kitlib.kubelet.config.settings import SettingsError

LISTING = """
tmpfs on /sys/fs/cgroup type tmpfs (ro,nosuid,nodev,noexec,mode=755)
cgroup on /sys/fs/cgroup/cpuset type cgroup (rw,nosuid,nodev,noexec,relatime,cpuset)
cgroup on /sys/fs/cgroup/memory type cgroup (rw,nosuid,nodev,noexec,relatime,memory)
cgroup on /sys/fs/cgroup/cpu,cpuacct type cgroup (rw,nosuid,nodev,noexec,relatime,cpu,cpuacct)
no mount at all
"""


def test_lines_of_mount_are_read():
    mounts = parse_mounts(LISTING)
    assert len(mounts) == 4
    assert mounts[0] == MountPoint("tmpfs", "/sys/fs/cgroup", "tmpfs", ("ro", "nosuid", "nodev", "noexec", "mode=755"))
    assert mounts[3].options[-2:] == ("cpu", "cpuacct")


def test_a_machine_with_all_four_controllers_will_do():
    validate_system_requirements(parse_mounts(LISTING), 1)


@pytest.mark.parametrize(
    ("gone", "named"),
    [("cpuset", "[cpuset]"), ("memory", "[memory]"), ("cpu,cpuacct", "[cpu cpuacct]")],
)
def test_what_is_not_mounted_is_named(gone, named):
    lines = [line for line in LISTING.splitlines() if f"/{gone} type" not in line]
    with pytest.raises(
        SettingsError, match="system validation failed - Following Cgroup subsystem not mounted"
    ) as refused:
        validate_system_requirements(parse_mounts("\n".join(lines)), 1)
    assert named in str(refused.value)


def test_a_name_in_another_file_systems_options_does_not_count():
    with pytest.raises(SettingsError):
        validate_system_requirements([MountPoint("x", "/x", "tmpfs", ("cpu", "cpuacct", "cpuset", "memory"))], 1)


def test_on_version_2_nothing_is_looked_for():
    validate_system_requirements([], 2)
