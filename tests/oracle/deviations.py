"""Where we differ from descheduler on purpose, and what of it we leave out, each with its reason.

| plugin | covered by | not covered, and why |
|---|---|---|
| RemovePodsViolatingNodeTaints | Conformity `nodeTaints` | |
| RemovePodsViolatingNodeAffinity | Conformity `nodeAffinity` | |
| RemovePodsViolatingInterPodAntiAffinity | Conformity `podAntiAffinity` | |
| RemovePodsHavingTooManyRestarts | Conformity `restarts` | |
| PodLifeTime | Conformity `lifetime` | see ARGUMENTS_LEFT_OUT |
| RemovePodsViolatingTopologySpreadConstraint | Spread `constraints: FromPods` | |
| RemoveDuplicates | Spread `maxPerDomain` | kinds of owners |
| LowNodeUtilization | Utilization `Relieve`, `Balance` | the number of pods, see PODS |
| HighNodeUtilization | Utilization `Pack` | the number of pods, see PODS |
| RemoveFailedPods | Conformity `failed`: they are told, and left | see ARGUMENTS_LEFT_OUT |
| DefaultEvictor | eligibility, feasibility and Limits | we leave more pods alone, see STRICTER |
"""

ENDED = (
    "the pod has ended: its owner has replaced it, it is on no node, and nothing can be placed "
    "better; removing it is garbage collection"
)
TOLD = "a pod that has failed is told wherever there is room: nothing is placed for it"
INCOMPLETE = "another pod of its controller is missing or not Ready"
UNSETTLED = (
    "the pod is not Running: its kubelet and its owner are at work on it, and a pod that does not "
    "serve cannot be moved more safely by one more eviction"
)
IMAGES = (
    "pods of one workload are each other's duplicates whatever their images are; revisions are "
    "told apart by matchLabelKeys"
)
ROOM = "the replacement would stay Pending: we evict nothing that no node has room for"

PODS = "they also go by the number of pods on a node, which is no load: "
BLIND = "what each pod uses is not known: no pod is evicted on the chance that it is the one"
WHOLE = "the other node has no room for all of its pods: a node is emptied whole, or not at all"

ARGUMENTS_LEFT_OUT = {
    "conditions": "conditions of a pod say what its owner or kubelet does about it already",
    "ownerKinds": "whose pods are meant is said by labels and namespaces",
    "excludeOwnerKinds": "whose pods are meant is said by labels and namespaces",
    "includingEphemeralContainers": "ephemeral containers are for debugging; they are not read",
}
"""Arguments of plugins that ours do not have."""

NO_RULE = "a policy without any rule is an error here, and does nothing there"
NO_LOAD = "their only target is the number of pods on a node, which is no load"
NO_RESULT = "what came out was not recorded"

STRICTER = {
    "ELG001": "a bare pod would not come back; that it has failed makes no difference",
    "ELG002": "pods of a DaemonSet come back to their node, whatever is allowed",
    "ELG003": "mirror pods come back to their node; an annotation does not change that",
    "ELG009": "critical pods never move, and `evict` does not lift the priority of a pod",
    "ELG010": "whether local data may be lost is said by cluster-autoscaler's annotations",
    "ELG011": "prefer-no-eviction is taken for what it says",
    "ELG012": "the Ready pods of its controller are counted, also where it names a second owner",
    "ELG017": "its volume claim is not in the cluster, so where it could go is not known",
    "FEA001": ROOM,
}
"""Code to the reason why a pod that descheduler would evict is left alone."""

LOOSER = dict.fromkeys(
    ("ignorePodsWithoutPDB", "PodsWithoutPDB"),
    "a pod without a PodDisruptionBudget is held by our own limits instead",
)
"""Argument to the reason why a pod that descheduler protects may be eligible."""

UNFIT = "nodeFit=true,_"
AFFINITY = "1_container_terminated_with_reason_NodeAffinity"
CONFIG = "1_container_terminated_with_reason_CreateContainerConfigError"
INIT = "includingInitContainers"
APART = "removepodsviolatinginterpodantiaffinity/TestPodAntiAffinity/Maximum_pods_to_evict"

DEVIATIONS = {
    "nodeutilization/TestLowNodeUtilization/with_extended_resource": (
        "a GPU that one pod has is as busy on any node: only `wholeDevices: Count` judges it"
    ),
    **{
        f"podlifetime/TestPodLifeTime_ContainerWaitingReasons/Two_pods,_one_with_{state}_state._1_"
        "should_be_evicted.": INCOMPLETE
        for state in ("PodInitializing", "ContainerCreating")
    },
    "podlifetime/TestPodLifeTime_EvictorConfiguration/"
    "Evicts_pvc_pods_with_ignorePvcPods_set_to_false_(or_unset)": (
        "its volume claim is not in the cluster, so where its replacement may go is not known"
    ),
    "podlifetime/TestPodLifeTime_EvictionLimits/"
    "2_Oldest_pods_should_be_evicted_when_maxPodsToEvictPerNode_and_"
    "maxPodsToEvictPerNamespace_are_not_set": UNSETTLED,
    **{
        f"podlifetime/TestPodLifeTime_ContainerWaitingReasons/1_pod_with_{name}": UNSETTLED
        for name in (
            "container_status_ImagePullBackOff_should_be_evicted",
            "container_status_CrashLoopBackOff_should_be_evicted",
            "container_status_CreateContainerConfigError_should_be_evicted",
            "container_status_ErrImagePull_should_be_evicted",
            f"init_container_status_CreateContainerError_should_be_evicted_with_{INIT}",
            "container_status_CreateContainerError_should_be_evicted",
            "container_status_InvalidImageName_should_be_evicted",
        )
    },
    **{
        f"podlifetime/TestPodLifeTime_PodStatusReasons/1_pod_with_pod_status_reason_{name}_"
        "should_be_evicted": UNSETTLED
        for name in ("NodeLost", "NodeAffinity", "Shutdown", "UnexpectedAdmissionError")
    },
    "podlifetime/TestPodLifeTime_PodPhaseStates/"
    "Two_old_pods_with_different_states._1_should_be_evicted.": UNSETTLED,
    **{
        f"podlifetime/TestPodLifeTime_PodPhaseStates/1_pod_with_pod_status_phase_v1.Pod{phase}_"
        "should_be_evicted": reason
        for phase, reason in (("Succeeded", ENDED), ("Unknown", UNSETTLED))
    },
    "removeduplicates/TestFindDuplicatePods/"
    "Pods_with_the_same_owner_but_different_images_should_not_be_evicted": IMAGES,
    "removeduplicates/TestFindDuplicatePods/"
    "Pods_with_matching_ownerrefs_and_at_not_all_matching_image_should_not_trigger_an_eviction": (
        IMAGES
    ),
    "removeduplicates/TestRemoveDuplicatesUniformly/"
    "Evict_pods_with_number_of_pods_less_than_nodes,_but_ignore_different_pods_with_the_same_"
    "ownerref": IMAGES,
    "removeduplicates/TestFindDuplicatePods/Three_pods_in_the_`node-fit`_Namespace,_bound_to_same_"
    "ReplicaSet._Only_node_available_has_enough_CPU,_and_nodeFit_set_to_true._1_should_be_"
    "evicted.": "the scheduler would put the replacement back on the node that it left",
    "removeduplicates/TestRemoveDuplicatesUniformly/Evict_pods_uniformly_with_two_replica_sets": (
        "each pod names two owners; it is one of nine pods, not one of eighteen, and two moves "
        "make 3, 3, 3"
    ),
    **{
        f"{APART}_{name}": (
            "three pods shun a fourth: one move of the fourth repairs what they evict three for"
        )
        for name in ("-_0", "-_3", "(maxPodsToEvictPerNamespace=3)_-_3")
    },
    "removepodsviolatingnodetaints/TestDeletePodsViolatingNodeTaints/"
    "Critical_and_non_critical_pods,_pods_not_tolerating_node_taint_should_be_evicted_even_if_they_"
    "are_critical": "pods that are critical to the system are never moved",
    "removepodsviolatingtopologyspreadconstraint/TestTopologySpreadConstraint/"
    "3_domains,_sizes_[0,_1,_100],_maxSkew=1,_move_66_pods_to_get_[34,_33,_34]": ROOM,
    "removepodsviolatingtopologyspreadconstraint/TestTopologySpreadConstraint/"
    "3_domains,_sizes_[2,3,4],_maxSkew=1,_args.NodeFit_is_false,_and_not_enough_cpu_on_zoneA;_1_"
    "should_be_moved_to_force_scale-up": ROOM,
    **{
        f"removefailedpods/TestRemoveFailedPods/{name}": TOLD
        for name in (
            f"{UNFIT}1_unschedulable_node,_{AFFINITY},_0_eviction",
            f"{UNFIT}only_available_node_does_not_have_enough_resources,_{CONFIG},_0_eviction",
            "1_container_terminated_with_reason_ShutDown,_0_evictions",
        )
    },
    "podlifetime/TestStatesWithTerminatedReasons/states_matches_terminated_reason_on_init_"
    "container": "what an init container ended with is over: the pod runs",
    **{
        f"nodeutilization/TestHighNodeUtilization/{name}": reason
        for name, reason in {
            "no_node_to_schedule_evicted_pods": (
                "of two cold nodes one takes the other's pod in, and the other is free"
            ),
            "without_priorities": (
                "one node keeps a critical pod and would not be free, the other is cordoned, and "
                "anybody who cordoned it empties it"
            ),
            "with_priorities": WHOLE,
            "without_priorities_evicting_best-effort_pods_only": WHOLE,
        }.items()
    },
    "nodeutilization/TestHighNodeUtilizationWithTaints/Pod_which_tolerates_node_taint": (
        "the other pod of the node does not tolerate the taint, so that the node would not be free"
    ),
    **{
        f"nodeutilization/TestLowNodeUtilization/{name}{metrics}": reason
        for name, reason in {
            "without_priorities": f"{PODS}three moves bring its CPU to the target",
            "without_priorities_stop_when_cpu_capacity_is_depleted": (
                f"{PODS}three moves bring its CPU to the target"
            ),
            "with_priorities": f"{PODS}three moves bring its CPU to the target",
            "without_priorities_evicting_best-effort_pods_only": (
                f"{PODS}by CPU three moves are enough, and none where its pods ask for little"
            ),
        }.items()
        for metrics in ("", "_with_metrics_enabled")
    },
    "nodeutilization/TestLowNodeUtilization/with_extended_resource_in_some_of_nodes_with_"
    "deviation": f"{PODS}the pod that they evict uses none of the resource",
    "nodeutilization/TestLowNodeUtilization/without_priorities_different_evictions_for_requested_"
    "and_actual_resources_with_metrics_enabled": (
        "the pods together use 130% of what their node does: readings that contradict each other "
        "do not say which pod to move"
    ),
    "nodeutilization/TestLowNodeUtilizationPrometheusClientNilAtCreation": BLIND,
    **{
        "nodeutilization/TestLowNodeUtilizationWithPrometheusMetrics/with_instance:node_cpu:rate:"
        f"sum_query{name}": BLIND
        for name in (
            "",
            "_with_more_evictions",
            "_with_deviation",
            "_and_deviation_thresholds",
        )
    },
}
"""Case to the reason why ours is right."""
