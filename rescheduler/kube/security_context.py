"""What pods and containers say about their rights on the node: what Pod Security judges."""

import msgspec


class _Part(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    pass


class Capabilities(_Part):
    """securityContext.capabilities."""

    add: list[str] | None = None
    drop: list[str] | None = None


class SecurityProfile(_Part):
    """securityContext.seccompProfile and appArmorProfile."""

    type: str = ""


class SeLinuxOptions(_Part):
    """securityContext.seLinuxOptions."""

    type: str = ""
    user: str = ""
    role: str = ""


class WindowsOptions(_Part):
    """securityContext.windowsOptions."""

    hostProcess: bool | None = None


class Sysctl(_Part):
    """securityContext.sysctls[] of a pod."""

    name: str = ""


class SecurityContext(_Part):
    """securityContext of a pod or a container: what Pod Security asks for."""

    privileged: bool | None = None
    allowPrivilegeEscalation: bool | None = None
    capabilities: Capabilities | None = None
    procMount: str | None = None
    runAsNonRoot: bool | None = None
    runAsUser: int | None = None
    seccompProfile: SecurityProfile | None = None
    appArmorProfile: SecurityProfile | None = None
    seLinuxOptions: SeLinuxOptions | None = None
    windowsOptions: WindowsOptions | None = None
    sysctls: list[Sysctl] | None = None
