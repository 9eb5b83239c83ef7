"""The states that a rule of Conformity may name, and those in which no evaluated pod ever is."""

from rescheduler.documents.validation import near

_UNPLACED = frozenset({"Pending", "Unschedulable", "SchedulingGated"})
_ENDED = frozenset(
    {
        "Completed",
        "ContainerCannotRun",
        "ContainerStatusUnknown",
        "DeadlineExceeded",
        "Error",
        "Evicted",
        "Failed",
        "NodeAffinity",
        "NodeShutdown",
        "OOMKilled",
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "Preempting",
        "Shutdown",
        "StartError",
        "Succeeded",
        "Terminated",
        "UnexpectedAdmissionError",
    }
)
_OUT_OF = "OutOf"
"""With any resource: why a kubelet refuses a pod."""
_POSSIBLE = frozenset(
    {
        "ContainerCreating",
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "NodeLost",
        "PodInitializing",
        "PostStartHookError",
        "RegistryUnavailable",
        "RunContainerError",
        "Running",
        "Unknown",
    }
)
"""Phases, and reasons for which kubelet lets a container wait. Source: pkg/kubelet."""


def never_in(state: str) -> str:
    """Why no pod that is evaluated is ever in this state, or ""."""
    if state in _UNPLACED:
        return (
            f"pods that no node has are never evaluated, and a pod that is {state} on its node is "
            "never moved before it runs (ELG004)"
        )
    if state in _ENDED:
        text = f"pods that have ended are never evaluated ({state})"
        return f"{text}; Maybe `failed` is meant, which reports them"
    meant = "" if state in _POSSIBLE else near(state, (*_POSSIBLE, *_UNPLACED, *_ENDED))
    return f"no pod is ever in state {state}; Maybe {meant} is meant" if meant else ""


def never_failed(reason: str) -> str:
    """Why no pod ever fails with this reason, or ""; a controller may give one of its own."""
    exists = reason in _ENDED | _POSSIBLE or reason.startswith(_OUT_OF)
    meant = "" if exists else near(reason, _ENDED)
    return f"no pod ever fails with reason {reason}; Maybe {meant} is meant" if meant else ""
