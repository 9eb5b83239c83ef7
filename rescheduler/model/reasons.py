"""The one catalogue of reason codes: what each means, and what a person can do about it.

Families: ELG eligibility, BUD budgets, FEA feasibility and landing, MRG margin, PAC pacing, GRD
guards, RDG readings, SPR, UTL, FRG, LOC and CNF policies, STB stability, ACT outcomes, DRF drift, DAT the data itself. A code is
never reused for another meaning.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason code. sentence: what it means in general. advice: what to do, if anything.

    event: the `reason` of Events that tell of a move for its sake; "": that of any move.
    """

    code: str
    sentence: str
    advice: str
    event: str = ""


_ALL = (
    # Eligibility: may this pod be moved at all?
    Reason("ELG001", "The pod has no controller that would replace it.", "Give it an owner."),
    Reason("ELG002", "A DaemonSet pod belongs to its node.", "Nothing to do."),
    Reason("ELG003", "A mirror or static pod is managed by its kubelet.", "Nothing to do."),
    Reason("ELG004", "The pod is not Running.", "Wait until it runs."),
    Reason("ELG005", "The pod is being deleted already.", "Wait until it is gone."),
    Reason("ELG006", "The pod is not Ready, or has not been for long enough.", "Wait, or lower `minReadyTime`; see `crashLooping` for pods that crash-loop."),
    Reason("ELG007", "The pod is younger than `minPodAge`.", "Wait, or lower `minPodAge`."),
    Reason("ELG008", "The namespace is protected.", "Change `protectedNamespaces` if it is meant to move."),
    Reason("ELG009", "The pod's priority is above `maxPriority`, or it is critical to the system.", "Raise `maxPriority`; critical pods never move."),
    Reason("ELG010", "The pod has local storage that a move would lose.", "Set `localStorage: Allow`, or annotate the pod as safe to evict."),
    Reason("ELG011", "The pod opted out by an annotation.", "Remove the annotation to let it move."),
    Reason("ELG012", "The workload has fewer Ready pods than `minReplicas`.", "Scale it up, or lower `minReplicas`."),
    Reason("ELG013", "The workload is rolling out or being scaled.", "Wait until it has settled."),
    Reason("ELG014", "Evicting this Job's pod would count as a failure.", "Ignore DisruptionTarget in its podFailurePolicy, or set `jobs: Allow`."),
    Reason("ELG015", "The owner is of a kind, or in a state, that we cannot follow.", "Nothing to do; its replacement cannot be predicted."),
    Reason("ELG016", "The pod belongs to a gang that would break as a whole.", "Move the gang as a whole by hand."),
    Reason("ELG017", "The pod's volume or device claim ties it to its node.", "Nothing to do; it could only come back."),
    Reason("ELG018", "The pod's scheduler is not one that we model.", "Nothing to do; its landing cannot be predicted."),
    Reason("ELG019", "The pod is needed by the rescheduler itself.", "Nothing to do."),
    Reason("ELG020", "The node is not Ready, is being drained, or is too young.", "Wait until the node has settled."),
    Reason("ELG021", "The pod is being resized in place.", "Wait until the resize has ended."),
    Reason("ELG022", "The pod was moved by us a short while ago, or its replacement is awaited.", "Wait for the cool-down."),
    Reason("ELG023", "The pod crash-loops, and its node is not known to be the cause.", "Read its logs: it crash-loops elsewhere too, or a move did not help."),
    # Budgets
    Reason("BUD001", "Two PodDisruptionBudgets select the pod; the API server refuses that.", "Leave only one that selects it."),
    Reason("BUD002", "The PodDisruptionBudget allows no disruption now.", "Wait, or add replicas."),
    Reason("BUD003", "The PodDisruptionBudget's status is older than its specification.", "Wait for its controller."),
    Reason("BUD004", "A ResourceQuota leaves no room for the replacement beside the old pod.", "Raise the quota."),
    # Feasibility and landing
    Reason("FEA001", "No node is feasible for the replacement.", "Free or add capacity; `refused` says which filter rejects."),
    Reason("FEA002", "The replacement would come back to the node it left.", "Lower that node's standing: requests, taints or affinity decide."),
    Reason("FEA003", "The replacement would land where it is no better placed.", "Requests, taints or affinity decide where it lands."),
    Reason("FEA004", "The replacement may stay Pending.", "Free capacity, or raise `maxUnschedulable`."),
    Reason("FEA005", "The pod uses something that our model of the scheduler does not cover.", "Nothing to do; its landing cannot be predicted."),
    Reason("FEA006", "The replacement could land on a node without trusted readings.", "Repair the readings of that node."),
    Reason("FEA007", "The kubelet of a node where the replacement could land would not admit it, or may not (NUMA).", "Free a NUMA zone there, or repair its NodeResourceTopology; kube-scheduler does not look at zones."),
    Reason("FEA009", "The replacement fits nowhere, but could take the place of pods of a lower priority.", "Free or add capacity; we never cause a preemption."),
    # Margin and pacing
    Reason("MRG001", "The expected gain does not exceed the margin.", "Lower `margin` to let smaller gains count."),
    Reason("MRG002", "The gain is too small for the disruption it costs.", "Lower `gainShare`, or raise the policy's weight."),
    Reason("MRG003", "The move would undo a recent move.", "Look at which two policies pull in opposite directions."),
    Reason("PAC001", "The cycle has its number of moves.", "The next cycle goes on; or raise `movesPerCycle`."),
    Reason("PAC002", "The node has given its number of pods in this cycle.", "The next cycle goes on; or raise `movesPerNode`."),
    Reason("PAC003", "The namespace has given its number of pods in this cycle.", "The next cycle goes on; or raise `movesPerNamespace`."),
    Reason("PAC004", "The workload has given its number of pods in this cycle.", "The next cycle goes on; or raise `movesPerWorkload`."),
    Reason("PAC005", "The hour has its number of moves.", "A later cycle goes on; or raise `movesPerHour`."),
    # Guards: they hold the whole cycle
    Reason("GRD001", "Too many nodes are hot at once: that is a wrong query or a real overload.", "Look at the readings; add capacity; or raise `maxHotShare`."),
    Reason("GRD002", "Too many nodes are not Ready.", "Repair the nodes first."),
    Reason("GRD003", "A pod that we evicted has had no Ready replacement for too long.", "Find out why it is Pending."),
    Reason("GRD004", "The durable state cannot be trusted.", "Read the message; reset it on purpose if it is lost."),
    Reason("GRD005", "Another instance holds the lock.", "Nothing to do: one instance acts at a time."),
    Reason("GRD006", "Acting is paused.", "Set `paused` to `false` in the state ConfigMap."),
    Reason("GRD007", "The clocks of this host and of the API server differ.", "Synchronize the clocks."),
    Reason("GRD008", "Pods of the same or a higher priority are Pending.", "Give them room first."),
    Reason("GRD009", "Replacements land elsewhere than predicted too often.", "Find out why; then set `landings` to `forget` in the state ConfigMap, or lower `minLandingHitRate`."),
    Reason("GRD010", "The running scheduler could not be asked how it is configured.", "Check `--scheduler-url`, its certificate and the right to get /configz and /metrics; or declare it in YAML."),
    # Readings
    Reason("RDG001", "The metric source could not be read.", "Check the address, the credentials and the network."),
    Reason("RDG002", "The metric source answered only in part.", "Repair the source that it warns about."),
    Reason("RDG003", "Too few of the expected nodes or pods have a value.", "Repair the exporters, or lower `minCoverage`."),
    Reason("RDG004", "The values are too old.", "Repair the exporters, or raise `maxAge`."),
    Reason("RDG005", "One node or pod has several differing values.", "Look for an exporter that is scraped twice."),
    Reason("RDG006", "The values are not finite, or out of their range.", "Repair the exporter."),
    Reason("RDG007", "The reading is not in the recorded snapshot.", "Record again with these policies."),
    Reason("RDG008", "The reading is not known.", "Use one of the catalogue's names."),
    Reason("RDG009", "The metric source does not have this metric at all.", "Install its exporter."),
    Reason("RDG010", "A node's load and the sum of its pods' usage disagree, so no pod is blamed for it.", "Look for processes outside of pods, or for an exporter that misses pods."),
    Reason("RDG011", "An operator's query would read every cluster that the metric source watches.", 'Put `$match` into its braces, such as `bytes_total{$match job="mesh"}`.'),
    # Policies
    Reason("SPR001", "A domain holds more pods of a workload than its fair share and `maxSkew`.", "A move to an emptier domain repairs it.", "RestoreSpread"),
    Reason("SPR002", "Pods run on nodes that are in no domain that the policy counts.", "Label the nodes with `topologyKey`; or look at the pods' nodeSelector and affinity, and with `nodeTaintsPolicy: Honor` at taints, cordons and nodes that are not Ready.", "RestoreSpread"),
    Reason("SPR003", "Constraints do not select the pods that have them.", "Look at their labelSelector; a constraint about other pods is not judged.", "RestoreSpread"),
    Reason("SPR004", "Empty domains count although none of the pods could be placed there.", "Nothing, if these nodes are only cordoned or down; else `nodeTaintsPolicy: Honor` in the constraint, or narrow `nodes`.", "RestoreSpread"),
    Reason("UTL001", "A node's load is above its target.", "A move to a node with room repairs it.", "RebalanceUtilization"),
    Reason("LOC001", "Pods that exchange traffic with each other, or to a domain, are far from it.", "A move nearer to the other end repairs it."),
    Reason("LOC002", "Pods of a group are not together, or not apart.", "A move to the domain of the others, or off a shared one, repairs it."),
    Reason("LOC003", "Pods are far from the data that they read.", "A move nearer to a node that holds it repairs it."),
    Reason("LOC004", "Pods have none of the pods of their podAffinity near them.", "A move to where one of them is repairs it."),
    Reason("LOC005", "No level of the tree tells the nodes apart.", "Label the nodes, or name their labels in `levels`."),
    Reason("LOC006", "A wish for locality cannot be judged, and is left out.", "Read the message."),
    Reason("UTL002", "A cold node could be freed, and pods keep it from being so.", "Moves to the other nodes free it.", "RebalanceUtilization"),
    Reason("HLT001", "A node's readings say that it, or a device of it, is broken.", "Repair the node; `action: Drain` moves its pods away."),
    Reason("HLT002", "The readings of a device say that it is broken.", "Repair or replace it; `action: Drain` moves the pods that have it away."),
    Reason("HLT003", "A device is broken, and which of the node's pods have it is not told.", "Let dcgm-exporter tell the pods (DCGM_EXPORTER_KUBERNETES); `unattributed: Drain` moves all that may have it."),
    Reason("NUM001", "A pod lies over more NUMA zones than it needs.", "A move to a node with a zone that holds it repairs it."),
    Reason("NUM002", "A pod lies on a node with a crowded NUMA zone.", "A move to a node with more room in its zones repairs it."),
    Reason("NUM003", "Where pods lie in NUMA zones is not known of some nodes or pods.", "Install a topology exporter on every node, or repair it."),
    Reason("NUM004", "Nothing tells of NUMA zones.", "Install NFD's topology-updater or another exporter of NodeResourceTopology, or a DRA driver that tells the NUMA node of its devices."),
    Reason("FRG001", "A node has capacity left that the pods of the cluster cannot use.", "A move that fills its gap, or frees a whole place, repairs it."),
    Reason("FRG002", "Pending pods have no room on any node.", "Moves that free a whole place repair it; else add capacity."),
    Reason("FRG003", "No pod asks for a resource, so that none of it can be stranded.", "Look at the names of the resources."),
    Reason("CNF001", "Pods run on a node with a taint that they do not tolerate.", "A move to a node without it repairs it; or give the pods a toleration."),
    Reason("CNF002", "Pods run on a node that their nodeSelector or required node affinity does not accept.", "A move to a node that it accepts repairs it."),
    Reason("CNF003", "Pods run on a node that they would rather not be on.", "A move to a node that they prefer repairs it."),
    Reason("CNF004", "Pods share a domain with pods that their anti-affinity shuns.", "A move of either to another domain repairs it."),
    Reason("CNF005", "Pods have none of the pods in their domain that their required affinity asks for.", "A move to where these are repairs it."),
    Reason("CNF006", "Containers of the pods were restarted too often.", "Read their logs; another node helps where this one is the cause."),
    Reason("CNF007", "Pods are older than they should become.", "A move to another node makes them anew."),
    Reason("CNF008", "Pods have failed and are still there.", "Find out why; no move helps, and removing them is Kubernetes' garbage collection."),
    # Stability: whether trouble has held for as long as its policy asks
    Reason("STB001", "The trouble has not held for `stableFor` yet.", "Wait; the message says until when. Or lower `stableFor`."),
    Reason("STB002", "For how long the trouble has held is not known.", "Read the message; what cannot be known never counts as held."),
    # Outcomes
    Reason("ACT001", "The pod was evicted.", ""),
    Reason("ACT002", "The pod was gone already.", "Nothing to do."),
    Reason("ACT003", "Another pod has its name now.", "Nothing to do; the fresh pod was left alone."),
    Reason("ACT004", "The PodDisruptionBudget did not allow the eviction.", "A later cycle tries again."),
    Reason("ACT005", "The API server asked to wait.", "A later cycle tries again."),
    Reason("ACT006", "Two PodDisruptionBudgets select the pod.", "Leave only one that selects it."),
    Reason("ACT007", "The API server forbids it.", "Give the service account the right to create pods/eviction."),
    Reason("ACT008", "The API server did not accept the request.", "Read the message; an admission policy may refuse it."),
    Reason("ACT009", "No answer came: the outcome is not known, and is resolved by UID later.", "Nothing to do; its budget stays charged."),
    Reason("ACT010", "Not tried: the run stopped before it.", "Read the verdict."),
    Reason("ACT011", "No Ready replacement came in time.", "Find out why it is Pending."),
    Reason("ACT012", "The replacement came back to the node it left.", "Its workload is left alone for twice as long."),
    Reason("ACT013", "The run has ended: every move of the plan was tried.", "Nothing to do; the moves say what became of each."),
    Reason("ACT014", "The run was told to stop, or its time was up.", "The next run goes on."),
    Reason("ACT015", "The lock was lost while acting; nothing more was sent.", "Look for a second instance, or a slow API server."),
    Reason("ACT016", "The cluster, its metrics or our own state could not be read or written while acting.", "Read the message; the next run goes on."),
    Reason("ACT017", "The pod crash-looped, and its replacement is not Ready either.", "Read its logs: its node was not the cause. It is not moved again within a day."),
    # Drift: what the re-check before a move found
    Reason("DRF001", "The pod is on another node, or no longer Running and Ready.", "Make a new plan."),
    Reason("DRF003", "Its node, or its expected node, has changed.", "Make a new plan."),
    Reason("DRF004", "The move would no longer gain enough, or would land elsewhere.", "Make a new plan."),
    # The data itself
    Reason("DAT001", "An object could not be decoded; it is left out, and its node is left alone.", "Report the object."),
    Reason("DAT002", "An optional kind of object could not be read.", "Grant the right if the kind matters to you."),
)  # fmt: skip

CATALOG: dict[str, Reason] = {reason.code: reason for reason in _ALL}
"""Every reason by its code."""
