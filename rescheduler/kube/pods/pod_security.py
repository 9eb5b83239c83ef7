"""Pod Security: whether a level that a namespace enforces admits a pod of a spec.

The newest version of each level is evaluated, whatever `enforce-version` says, and not the hosts of
probes (baseline since 1.34), nor what admission was configured to exempt.
Source: k8s.io/pod-security-admission/policy, check_*.go, Kubernetes 1.36.
"""

from collections.abc import Iterator

from rescheduler.kube.objects import Container, PodSpec
from rescheduler.kube.pods.containers import all_containers
from rescheduler.kube.security_context import SecurityContext, SecurityProfile

ENFORCE = "pod-security.kubernetes.io/enforce"
"""The label of a namespace with the level that it enforces."""
_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_SE_TYPES = frozenset(
    {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
)
_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_PROFILES = frozenset({"RuntimeDefault", "Localhost"})
_NONE = SecurityContext()


def refused_by(level: str, spec: PodSpec) -> str:
    """What the level does not allow in this spec; "" if it admits it.

    level: privileged, baseline or restricted. Anything else counts as restricted, as admission
    takes it.
    """
    if level in ("", "privileged"):
        return ""
    violation = next(_above_baseline(spec), "")
    if violation or level == "baseline":
        return violation
    return next(_above_restricted(spec), "")


def _above_baseline(spec: PodSpec) -> Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if getattr(spec, field):
            yield field
    if any(volume.hostPath is not None for volume in spec.volumes or ()):
        yield "a hostPath volume"
    pod = spec.securityContext or _NONE
    if any(sysctl.name not in _SYSCTLS for sysctl in pod.sysctls or ()):
        yield "an unsafe sysctl"
    yield from _odd_context(pod)
    for container in all_containers(spec):
        if any(port.hostPort for port in container.ports or ()):
            yield "a hostPort"
        own = container.securityContext or _NONE
        if own.privileged:
            yield "a privileged container"
        added = set((own.capabilities.add if own.capabilities else None) or ())
        if not added <= _CAPABILITIES:
            yield f"capability {min(added - _CAPABILITIES)}"
        if own.procMount not in (None, "", "Default"):
            yield f"procMount {own.procMount}"
        yield from _odd_context(own)


def _odd_context(context: SecurityContext) -> Iterator[str]:
    """What neither a pod nor a container may have."""
    for profile in (context.seccompProfile, context.appArmorProfile):
        if profile is not None and profile.type == "Unconfined":
            yield "an Unconfined profile"
    linux, windows = context.seLinuxOptions, context.windowsOptions
    if linux is not None and (linux.type not in _SE_TYPES or linux.user or linux.role):
        yield "seLinuxOptions"
    if windows is not None and windows.hostProcess:
        yield "hostProcess"


def _above_restricted(spec: PodSpec) -> Iterator[str]:
    for volume in spec.volumes or ():
        if volume.persistentVolumeClaim or volume.emptyDir or volume.ephemeral or volume.image:
            continue
        if any(
            getattr(volume, field) is not None
            for field in volume.__struct_fields__
            if field != "name"
        ):
            yield f"volume {volume.name}"
    pod = spec.securityContext or _NONE
    windows = spec.os is not None and spec.os.name == "windows"
    for container in all_containers(spec):
        yield from _container_violations(container, pod, windows=windows)


def _container_violations(
    container: Container, pod: SecurityContext, *, windows: bool
) -> Iterator[str]:
    own, name = container.securityContext or _NONE, container.name
    as_root = pod.runAsNonRoot if own.runAsNonRoot is None else own.runAsNonRoot
    if not as_root:
        yield f"container {name} without runAsNonRoot"
    if 0 in (own.runAsUser, pod.runAsUser):
        yield f"container {name} as user 0"
    if windows:
        return
    if own.allowPrivilegeEscalation is not False:
        yield f"container {name} without allowPrivilegeEscalation: false"
    capabilities = own.capabilities
    if capabilities is None or "ALL" not in (capabilities.drop or ()):
        yield f"container {name} that does not drop all capabilities"
    elif set(capabilities.add or ()) - {"NET_BIND_SERVICE"}:
        yield f"container {name} that adds a capability"
    profile: SecurityProfile | None = own.seccompProfile or pod.seccompProfile
    if profile is None or profile.type not in _PROFILES:
        yield f"container {name} without a seccompProfile"
