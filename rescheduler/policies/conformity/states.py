"""The states that a rule of Conformity may name, and those in which no evaluated pod ever is."""

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
    spelled = {each.lower(): each for each in (*_POSSIBLE, *_UNPLACED, *_ENDED)}
    if state not in _POSSIBLE and state.lower() in spelled:
        return f"no pod is ever in state {state}; Maybe `{spelled[state.lower()]}` is meant"
    return ""
