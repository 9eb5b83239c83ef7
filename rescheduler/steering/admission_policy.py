"""Steering by a MutatingAdmissionPolicy, whose parameter is the table of replacements."""

from rescheduler.steering.admission import Admission


class AdmissionPolicy(Admission):
    """kube-apiserver itself adds the node affinity, by the policy that deploy/ brings."""

    name = "AdmissionPolicy"
