"""What each field of an explanation means: the descriptions of its JSON Schema."""

from rescheduler.reporting.descriptions import PROPERTIES as SHARED

_HEAD = {
    "kind": "What is explained.",
    "schemaVersion": "Version of this format; it changes when a field changes its meaning.",
    "header": "Which cluster, and when it was read.",
}
_PLACE = {
    "landing": "Where the scheduler would put it, the likeliest first; empty where nowhere.",
    "returns": "Probability that it comes back to the node it leaves.",
    "unschedulable": "Probability that no node is feasible.",
    "feasible": "How many nodes pass all filters.",
    "nodes": "How many nodes there are.",
    "event": "What the scheduler's event would say; empty where a node is feasible.",
    "refusal": "Why none of this is known, or null.",
}

PROPERTIES: dict[str, dict[str, str]] = {
    **{
        name: SHARED[name]
        for name in ("ClusterRef", "Problem", "FindingView", "LandingShare", "OwnerRef", "PodRef")
    },
    "Header": {
        "tool": "Name and version of the program.",
        "cluster": "The cluster.",
        "taken": "When the cluster was read.",
        "recorded": "Whether it is a recorded snapshot.",
    },
    "PodExplanation": {
        **_HEAD,
        **_PLACE,
        "pod": "The pod.",
        "owner": "Its workload, or null for a bare pod.",
        "node": "Its node; empty while it is Pending.",
        "phase": "Its phase.",
        "scheduler": "The scheduler that places it.",
        "verdict": "What a plan made now does with it.",
        "eligibility": "Every check that must pass before it may move.",
        "filters": "What each plugin rejects, in the order in which they run.",
        "scores": "The best nodes by plugin, and its own where that is feasible.",
        "state": "overlap: scheduled while the old pod holds its place; gone: after it.",
        "policies": "What each policy says of it.",
    },
    "NodeExplanation": {
        **_HEAD,
        "node": "Name of the node.",
        "zone": "Its zone; empty where it has none.",
        "ready": "Whether it is Ready.",
        "taints": "Its taints, as kubectl writes them.",
        "problem": "Why pods are moved neither off it nor onto it, or null.",
        "room": "What its pods ask for of each resource.",
        "loads": "Every reading of it.",
        "policies": "What each policy finds about it.",
        "pods": "Its pods: those that move first, then by what moving them could save.",
    },
    "PendingExplanation": {
        **_HEAD,
        "pods": "Pending pods by priority; one for all that are alike.",
    },
    "Verdict": {
        "fate": "moves, stays, held by a guard, or unknown where no policies were given.",
        "code": "Reason code; empty where there is none.",
        "message": "A sentence with the values.",
        "batch": "Number of the batch that it moves in, or null.",
        "mode": "Audit: shown only. Null where it does not move.",
        "gain": "Expected decrease of the weighted cost, or null.",
        "disruption": "What the move costs, in pods; null where it is not known.",
    },
    "Check": {
        "code": "Reason code of a pod that fails the check.",
        "result": "passed or failed; not asked where an earlier check of its group failed.",
        "message": "Why it failed.",
    },
    "FilterResult": {
        "plugin": "Name of the plugin.",
        "rejects": "Nodes that it rejects when run alone.",
        "first": "Nodes that it rejects and none before it.",
        "example": "One of them.",
        "reasons": "The scheduler's reasons, each with the number of nodes.",
    },
    "NodeScore": {
        "node": "Name of the node.",
        "total": "Sum of the points.",
        "points": "Points by plugin: 0 to 100 times its weight.",
        "probability": "Probability that the pod lands there.",
    },
    "PolicyView": {
        "name": "metadata.name of the policy.",
        "kind": "Its kind.",
        "mode": "Audit: evaluated and shown, never acted on.",
        "weight": "What one unit of its cost counts.",
        "gain": "Expected decrease of its cost by a move now; null where that is not known.",
        "findings": "Its costliest findings about it.",
        "problem": "Why the policy was not evaluated, or null.",
    },
    "Load": {
        "reading": "Name in the catalogue of readings.",
        "value": "The value; null where there is none.",
        "unit": "Unit of the value; ratio is 0 to 1 of the node.",
        "ageSeconds": "Its age; null where there is none.",
        "windowSeconds": "Time that it is aggregated over.",
        "capacity": "How much 1.0 is, in the unit of the pods' reading; null where not known.",
        "problem": "Why the reading as a whole is unfit, or null.",
    },
    "Room": {
        "resource": "Name of the resource.",
        "requested": "What its pods ask for; cpu in cores, memory in bytes.",
        "allocatable": "What it has for pods.",
    },
    "PodOnNode": {
        "pod": "The pod.",
        "owner": "Its workload, or null for a bare pod.",
        "relief": "Weighted cost that moving it could save at best, wherever it went.",
        "disruption": "What a move costs, in pods.",
        "usage": "What it uses, by reading.",
        "verdict": "What a plan made now does with it.",
    },
    "PendingPod": {
        **_PLACE,
        "pod": "The pod, the first by name of those alike.",
        "owner": "Its workload, or null for a bare pod.",
        "priority": "Its priority.",
        "scheduler": "The scheduler that places it.",
        "alike": "How many Pending pods of its owner are like it.",
        "reasons": "Why nodes are rejected, the most frequent reason first.",
        "moves": "Single moves after which it fits, the least disruptive first.",
        "tried": "Moves that were tried.",
        "none": "Why no single move makes room, or null.",
    },
    "Reason": {
        "reason": "The scheduler's reason.",
        "plugin": "The plugin that gives it.",
        "count": "For how many nodes.",
        "nodes": "Some of them.",
    },
    "RoomMove": {
        "pod": "The pod to move.",
        "owner": "Its workload.",
        "node": "The node that it leaves.",
        "fits": "Where the Pending pod fits afterwards.",
        "landing": "Where its replacement would land.",
        "returns": "Probability that it comes back.",
        "disruption": "What the move costs, in pods.",
    },
}
