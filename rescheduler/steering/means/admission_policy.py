"""Steering by a MutatingAdmissionPolicy, whose parameter is the table of replacements."""

from rescheduler.steering.admission_means import AdmissionMeans


class AdmissionPolicy(AdmissionMeans):
    """kube-apiserver itself adds the node affinity, by the policy that deploy/ brings."""

    name = "AdmissionPolicy"
    about = (
        "a MutatingAdmissionPolicy adds node affinity to them (Kubernetes 1.36 and later, or where "
        "v1beta1 is served)."
    )
    # As v1beta1, and where it is enabled.
    # Source: pkg/features/kube_features.go, MutatingAdmissionPolicy.
    since = 34
    before = "has no MutatingAdmissionPolicy; use Webhook"
