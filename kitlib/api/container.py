"""core/v1 Container and its parts: ports, environment, probes, lifecycle hooks, security contexts, resources.

Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.meta import KubeStruct
from kitlib.api.numbers import Int32, Int64, IntOrString
from kitlib.api.resource import Quantity

ResourceList = dict[str, Quantity]


class ResourceClaimRef(KubeStruct):
    """One entry of `resources.claims`; upstream: ResourceClaim."""

    name: str = ""
    request: str = ""


class ResourceRequirements(KubeStruct):
    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: list[ResourceClaimRef] = []


class ContainerPort(KubeStruct):
    name: str = ""
    host_port: Int32 = 0
    container_port: Int32 = 0
    protocol: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")


class ObjectFieldSelector(KubeStruct):
    api_version: str = ""
    field_path: str = ""


class ResourceFieldSelector(KubeStruct):
    container_name: str = ""
    resource: str = ""
    divisor: Quantity | None = None


class ConfigMapKeySelector(KubeStruct):
    name: str = ""
    key: str = ""
    optional: bool | None = None


class SecretKeySelector(KubeStruct):
    name: str = ""
    key: str = ""
    optional: bool | None = None


class FileKeySelector(KubeStruct):
    volume_name: str = ""
    path: str = ""
    key: str = ""
    optional: bool | None = None


class EnvVarSource(KubeStruct):
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: ConfigMapKeySelector | None = None
    secret_key_ref: SecretKeySelector | None = None
    file_key_ref: FileKeySelector | None = None


class EnvVar(KubeStruct):
    name: str = ""
    value: str = ""
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(KubeStruct):
    name: str = ""
    optional: bool | None = None


class SecretEnvSource(KubeStruct):
    name: str = ""
    optional: bool | None = None


class EnvFromSource(KubeStruct):
    prefix: str = ""
    config_map_ref: ConfigMapEnvSource | None = None
    secret_ref: SecretEnvSource | None = None


class VolumeMount(KubeStruct):
    name: str = ""
    read_only: bool = False
    recursive_read_only: str | None = None
    mount_path: str = ""
    sub_path: str = ""
    mount_propagation: str | None = None
    sub_path_expr: str = ""


class VolumeDevice(KubeStruct):
    name: str = ""
    device_path: str = ""


class ContainerResizePolicy(KubeStruct):
    resource_name: str = ""
    restart_policy: str = ""


class ContainerRestartRuleOnExitCodes(KubeStruct):
    operator: str = ""
    values: list[Int32] = []


class ContainerRestartRule(KubeStruct):
    action: str = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class ExecAction(KubeStruct):
    command: list[str] = []


class HTTPHeader(KubeStruct):
    name: str = ""
    value: str = ""


class HTTPGetAction(KubeStruct):
    path: str = ""
    port: IntOrString = 0
    host: str = ""
    scheme: str = ""
    http_headers: list[HTTPHeader] = []


class TCPSocketAction(KubeStruct):
    port: IntOrString = 0
    host: str = ""


class GRPCAction(KubeStruct):
    port: Int32 = 0
    service: str | None = None


class SleepAction(KubeStruct):
    seconds: Int64 = 0


class Probe(KubeStruct):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: Int32 = 0
    timeout_seconds: Int32 = 0
    period_seconds: Int32 = 0
    success_threshold: Int32 = 0
    failure_threshold: Int32 = 0
    termination_grace_period_seconds: Int64 | None = None


class LifecycleHandler(KubeStruct):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(KubeStruct):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class Capabilities(KubeStruct):
    add: list[str] = []
    drop: list[str] = []


class SELinuxOptions(KubeStruct):
    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class WindowsSecurityContextOptions(KubeStruct):
    gmsa_credential_spec_name: str | None = None
    gmsa_credential_spec: str | None = None
    run_as_user_name: str | None = None
    host_process: bool | None = None


class SeccompProfile(KubeStruct):
    type: str = ""
    localhost_profile: str | None = None


class AppArmorProfile(KubeStruct):
    type: str = ""
    localhost_profile: str | None = None


class SecurityContext(KubeStruct):
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    proc_mount: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None


class Sysctl(KubeStruct):
    name: str = ""
    value: str = ""


class PodSecurityContext(KubeStruct):
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: list[Int64] = []
    supplemental_groups_policy: str | None = None
    fs_group: Int64 | None = None
    sysctls: list[Sysctl] = []
    fs_group_change_policy: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None
    se_linux_change_policy: str | None = None


class Container(KubeStruct):
    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    working_dir: str = ""
    ports: list[ContainerPort] = []
    env_from: list[EnvFromSource] = []
    env: list[EnvVar] = []
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    resize_policy: list[ContainerResizePolicy] = []
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] = []
    volume_mounts: list[VolumeMount] = []
    volume_devices: list[VolumeDevice] = []
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: SecurityContext | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False


class EphemeralContainer(Container):
    target_container_name: str = ""
