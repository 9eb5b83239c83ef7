"""One pod, read straight from the API server right before something is done to it."""

import msgspec

from rescheduler.actions.transport import Api, call
from rescheduler.kube.objects import Pod
from rescheduler.model.errors import ClusterUnavailable


def read_pod(api: Api, namespace: str, name: str, *, timeout: float = 5.0) -> Pod | None:
    """The pod as the API server has it now, or None where there is none.

    Raises:
        ClusterUnavailable: no answer, a refusal, or an answer that is not a pod.
    """
    answer = call(api, "GET", f"/api/v1/namespaces/{namespace}/pods/{name}", timeout=timeout)
    if answer.status == 404:
        return None
    if not answer.ok:
        raise ClusterUnavailable(answer.message, "check whether the API server can be reached.")
    try:
        pod = msgspec.convert(answer.body, Pod)
    except msgspec.ValidationError as error:
        raise ClusterUnavailable(
            f"pod {namespace}/{name} cannot be decoded: {error}", "report the pod."
        ) from error
    pod.node = pod.spec.nodeName or ""
    return pod
