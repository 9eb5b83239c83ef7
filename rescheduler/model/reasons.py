"""The one catalogue of reason codes: what each means, and what a person can do about it.

Families: ELG eligibility, BUD budgets, FEA feasibility and landing, MRG margin, PAC limits per
cycle and hour, GRD guards, RDG readings, SPR, UTL, LOC, HLT, NUM, FRG, ALC, IDL and CNF policies, STB
stability, MSR measured gain, SEL selections, ACT outcomes, DRF drift, STR steering, NTF notifications, DAT the data itself. A code
is never reused for another meaning.
"""

from dataclasses import dataclass

from rescheduler.model.problem import Problem


@dataclass(frozen=True, slots=True)
class ReasonCode:
    """A reason code. sentence: what it means in general. advice: what to do, if anything.

    event: the `reason` of the Events about a move made because of it; "": that of any move.
    check: what is checked, as `explain` calls it; "": it is named there, or is no check.
    """

    code: str
    sentence: str
    advice: str
    event: str = ""
    check: str = ""


_ALL = (
    # Eligibility: may this pod be moved at all?
    ReasonCode("ELG001", "The pod has no controller that would replace it.", "Run it from a Deployment, a Job or another controller."),
    ReasonCode("ELG002", "A DaemonSet pod belongs to its node.", "Nothing to do."),
    ReasonCode("ELG003", "A static pod is managed by its kubelet.", "Nothing to do."),
    ReasonCode("ELG004", "The pod is not Running.", "Wait until it runs."),
    ReasonCode("ELG005", "The pod, or its namespace, is being deleted.", "Wait until it is gone."),
    ReasonCode("ELG006", "The pod is not Ready, or has been Ready for less than `minReadyTime`.", "Wait, or lower `minReadyTime`; for pods that crash-loop there is `crashLooping`."),
    ReasonCode("ELG007", "The pod is younger than `minPodAge`.", "Wait, or lower `minPodAge`."),
    ReasonCode("ELG008", "The namespace is protected.", "Take it out of `protectedNamespaces` if its pods may be moved; Kubernetes' own stay protected."),
    ReasonCode("ELG009", "The pod's priority is above `maxPriority`, or it is critical to the system.", "Raise `maxPriority`; critical pods never move."),
    ReasonCode("ELG010", "The pod has local storage that a move would lose.", "Set `localStorage: Allow`, or annotate the pod as safe to evict."),
    ReasonCode("ELG011", "The pod opted out by an annotation or a label.", "Remove the one that the message names to let it move."),
    ReasonCode("ELG012", "The workload has fewer Ready pods than `minReplicas`.", "Scale it up, or lower `minReplicas`."),
    ReasonCode("ELG013", "The workload is rolling out or being scaled.", "Wait until the rollout or scaling has ended."),
    ReasonCode("ELG014", "Evicting this pod of a Job would count as a failure of the Job.", "Let the first rule of the Job's podFailurePolicy that matches an evicted pod be `action: Ignore` for DisruptionTarget, or set `jobs: Allow`."),
    ReasonCode("ELG015", "The pod's owner is not known, or is of a kind or in a state that is not supported.", "Run it from a controller that is supported, or repair the owner that the message names."),
    ReasonCode("ELG016", "The pod belongs to a gang: evicting it would stop all pods of the gang.", "Set `gangs: Surplus` or `gangs: Whole` in the Limits to let gangs be moved."),
    ReasonCode("ELG017", "A volume or a ResourceClaim ties the pod to its node.", "Let the claim be ReadWriteMany, give each pod a claim of its own, or keep the pod where it is: its replacement could only run there again."),
    ReasonCode("ELG018", "The pod's scheduler is not one whose decisions can be predicted.", "Declare it in a `Scheduler` document, if it is a kube-scheduler."),
    ReasonCode("ELG019", "The pod belongs to the rescheduler, or to something that the rescheduler needs.", "Nothing to do."),
    ReasonCode("ELG020", "The node is not Ready, is being drained or taken away, evicts the pod for a taint, or is too young.", "Wait until the node is Ready and old enough, uncordon it, or wait until the work on it has ended; `avoidNodes` in the Limits can ignore a mark."),
    ReasonCode("ELG021", "The pod is being resized in place.", "Wait until the resize has ended."),
    ReasonCode("ELG022", "The workload was moved a short while ago, a replacement of it is not Ready yet, or an eviction of it got no clear answer.", "Wait until the cool-down has ended."),
    ReasonCode("ELG023", "The pod crash-loops, and its node does not seem to be the cause.", "Read its logs: it crash-loops elsewhere too, or a move did not help."),
    ReasonCode("ELG024", "Another pod of the workload is missing or not Ready.", "Find out why it is; a pod that is Ready is not taken meanwhile."),
    ReasonCode("ELG025", "Replacements that came to this node went wrong lately.", "Find out why; the message says until when the node is left alone."),
    ReasonCode("ELG027", "The gang would have fewer Ready pods than it needs.", "Wait until more are Ready, scale it up, or set `gangs: Whole`."),
    ReasonCode("ELG028", "The pod is moved with its whole gang or not at all.", "Nothing to do: its gang is evaluated as a whole."),
    ReasonCode("ELG029", "Kueue starts and stops the gang and would not know of the evictions, or might not admit the replacement of a pod.", "Set `gangs: Whole` and `kueue: Restart`; or stop and resume it by hand: `kubectl kueue stop workload NAME`, then `kubectl kueue resume workload NAME`; if the message says that something was not read, record the cluster again."),
    ReasonCode("ELG030", "The gang cannot be moved as a whole: it is not complete, a part of it is another gang, kube-scheduler itself places it as a group, or the Limits do not let so many pods move at once.", "Wait until all its pods are Ready, raise the limit that the message names, or set `gangs: Surplus`."),
    ReasonCode("ELG031", "The replacement cannot be steered: the pod, its template or a volume names nodes already, or its controller is not known.", "Nothing to do; it is moved without steering where that helps."),
    ReasonCode("ELG032", "The replacement is not steered: Kueue decides where it goes.", "Nothing to do; it is moved without steering where that helps."),
    ReasonCode("ELG033", "The replacement is not steered: its gang is steered as a whole or not at all.", "Set `gangs: Whole` to move and steer gangs as a whole."),
    ReasonCode("ELG034", "Another Workload of Kueue waits, and may take the quota that the move frees.", "Wait until none waits in its ClusterQueue or cohort."),
    ReasonCode("ELG035", "The queue of Kueue might not admit the gang, or the replacement of the pod, as it is now.", "Give its ClusterQueue one flavor with enough quota of its own; the message says what is in the way."),
    ReasonCode("ELG036", "The pod is run by an object of a kind that is not read, which may have opted out or be on its way out.", "Allow its kind in the Limits, such as `otherOwners: [Rollout.argoproj.io]`, or all of them by `otherOwners: Allow`; annotate what shall stay."),
    ReasonCode("ELG037", "The pod names eviction responders, which the Eviction API passes by.", "Ask for its eviction by an EvictionRequest, or take `evictionResponders` out of the template."),
    ReasonCode("ELG038", "An evicted pod of the namespace has had no Ready replacement for too long, or does not go.", "Find out why it is missing; the message names its owner, says until when the namespace is held, and how to forgive it."),
    ReasonCode("ELG039", "Too many replacements of this kind of controller landed elsewhere than predicted.", "Find out why, such as a profile or a plugin that is not declared; or lower `minLandingHitRate`; `rescheduler reset landings KIND` forgets them."),
    ReasonCode("ELG040", "What pods of the namespace depend on took too long to read a short while ago.", "Look for very many pods or objects in that namespace; it is tried again at the time that the message names."),
    ReasonCode("ELG041", "The pod's replacement would be another pod: the template of its owner, or what admission does to its pods, has changed since it was created, or is not the same for all.", "Restart the rollout, so that all its pods are created again, or undo the change that the message names."),
    ReasonCode("ELG042", "The replacement would be refused or changed by rules that came after the pod: a LimitRange, the Pod Security level, the default node selector or tolerations of its namespace, or its PriorityClass.", "Change the rule or the template that the message names; where it says that something was not read, grant the right to list it."),
    ReasonCode("ELG043", "The replacement asks for more or less than the pod, as its newest sibling or its template does, and is planned with that.", "Nothing to do: an autoscaler or a webhook sets requests when pods are made, or the pod was resized in place."),
    ReasonCode("ELG047", "What the policy selects is not judged, or not all of it.", "The message says what is missing: wait until the pods are old enough, or change the field that it names."),
    # Budgets
    ReasonCode("BUD001", "Two PodDisruptionBudgets select the pod; the API server then refuses evictions.", "Change the budgets so that only one selects it."),
    ReasonCode("BUD002", "The PodDisruptionBudget allows no disruption now.", "Wait, or add replicas."),
    ReasonCode("BUD003", "The status of the PodDisruptionBudget cannot be counted on.", "Wait until the disruption controller has updated it; where the message says SyncFailed, that never comes: give the budget a number as `minAvailable`, or let it select only pods of controllers with a scale subresource."),
    ReasonCode("BUD004", "A ResourceQuota does not admit the replacement, or not beside the old pod.", "Raise the quota; where it limits what a container does not ask for, say so in the template."),
    ReasonCode("BUD005", "Its namespace or tenant has its share of a limit on all moves, while others have moves that may be worth making.", "A later cycle continues; or raise the limit that the message names. Set `tenantLabel` in the Limits where several namespaces are one tenant's."),
    # Feasibility and landing
    ReasonCode("FEA001", "No node is feasible for the replacement.", "Free or add capacity; `rescheduler explain pod` shows which filter rejects which nodes."),
    ReasonCode("FEA002", "The replacement would come back to the node it left: kube-scheduler prefers that node.", "Set up steering (deploy/kustomize/addons), which sends it to another node; where it steers, change what keeps it there: requests, taints or affinity."),
    ReasonCode("FEA003", "The replacement would land where it is no better placed.", "Set up steering (deploy/kustomize/addons), which sends it to a better node."),
    ReasonCode("FEA004", "The replacement may stay Pending.", "Free capacity, or raise `maxUnschedulable`."),
    ReasonCode("FEA005", "The pod uses a feature of the scheduler that cannot be predicted.", "If the message names a plugin or an extender that never decides on which node a pod goes, say so in a Scheduler document: `addedPlugins: [{name: NAME, affectsPlacement: false}]`, or `harmlessExtenders`; else the pod stays."),
    ReasonCode("FEA006", "The replacement could land on a node whose readings are missing or too old.", "Repair the readings of that node."),
    ReasonCode("FEA007", "The replacement could land on a node whose kubelet may reject it (NUMA).", "Free a NUMA zone there, or repair its NodeResourceTopology; kube-scheduler does not know NUMA zones."),
    ReasonCode("FEA009", "The replacement fits on no node unless it preempts pods of a lower priority.", "Free or add capacity; a move never causes a preemption."),
    ReasonCode("FEA011", "The policies that would gain move only pods whose replacement is steered, and this one cannot be.", "Set `steering` in the Limits or the policy, or drop `onlyIfSteered`."),
    ReasonCode("FEA012", "The pod makes room for another one, which gains by it.", "Read the move that comes after it."),
    ReasonCode("FEA013", "The search ended before it came to this pod: its time was up, or as many moves were evaluated as one search may.", "A later cycle goes on; give policies a narrower `match`, or raise `gainShare`."),
    ReasonCode("FEA014", "The pod moves with its gang, which gains by it as a whole.", "Read the other moves of its gang."),
    ReasonCode("FEA015", "No finding names the pod, but the policy gains by what the pod does to the node where it goes.", "The message names the node and the gain."),
    ReasonCode("FEA016", "The replacement could land on a node that nothing should be sent to: it is about to go, broken, too young, or arrivals went wrong there.", "Cordon that node, or taint it NoSchedule, so that kube-scheduler does not choose it; or turn on `steering`. `avoidNodes` in the Limits says which marks count."),
    ReasonCode("FEA017", "The replacement could land on a node of another architecture, operating system or GPU model than its workload is known to run on.", "Name what it can run on in its nodeSelector or node affinity (`kubernetes.io/arch`, `kubernetes.io/os`, `nvidia.com/gpu.product`), so that kube-scheduler keeps to it; or turn on `steering`."),
    ReasonCode("FEA018", "kube-scheduler would refuse the replacement: the pods of its PodGroup, or the group and its pods, differ in what all must have alike.", "Give the PodGroup and all its pods one priority class, one scheduler and one preemption policy; the message says which differ."),
    ReasonCode("FEA020", "Something is wrong, and no pod may be moved that would mend it.", "`match` and `maxPriority` of the policy say which pods may be moved for its sake."),
    ReasonCode("FEA021", "The other moves of this plan solve it, too.", "Nothing to do for this pod."),
    ReasonCode("FEA022", "The policy only reports: owners of the pods mend what it finds.", "The report names them; ask them."),
    # Margin and limits
    ReasonCode("MRG001", "The expected gain does not exceed the margin.", "Lower `margin` to let smaller gains count."),
    ReasonCode("MRG002", "The gain is too small for the disruption that the move costs.", "Lower `gainShare`, or raise the policy's weight."),
    ReasonCode("MRG003", "The move would undo a recent move.", "Find the two policies that want opposite things; raise the weight of one."),
    ReasonCode("PAC007", "Slow start: after a first start, or a day without a run that may evict, each of the first three cycles moves one pod.", "The next cycle goes on by itself."),
    # Guards: they hold the whole cycle
    ReasonCode("GRD001", "Too many nodes are above their targets at once: a query is wrong, or the cluster is overloaded.", "Check the readings; add capacity; or raise `maxHotShare`."),
    ReasonCode("GRD002", "Too many nodes are not Ready.", "Repair the nodes first."),
    ReasonCode("GRD003", "Evicted pods have had no Ready replacement for too long, or do not go, and all that could move waits for them.", "Find out why it is Pending; where Kueue stopped its gang, give its Workload quota, resume it (`kubectl kueue resume workload NAME`), or delete its Job or JobSet."),
    ReasonCode("GRD004", "The ConfigMap with the budgets and moves of earlier runs is missing, damaged or an older one.", "Find out what happened to it; then `rescheduler reset state` starts it again."),
    ReasonCode("GRD005", "Another instance holds the lock.", "Nothing to do: one instance acts at a time."),
    ReasonCode("GRD006", "Evictions are paused.", "`rescheduler resume` lets them go on."),
    ReasonCode(
        "GRD007",
        "The clocks of this host and of the API server differ, or were set back.",
        "Synchronize the clocks; where one was ahead before, wait until the time that is named, or forget the state as the message says.",
    ),
    ReasonCode("GRD008", "Pods of the same or a higher priority are Pending.", "Free or add capacity for them first."),
    ReasonCode("GRD009", "Too many replacements landed elsewhere than predicted.", "Find out why; then `rescheduler reset landings KIND`, or lower `minLandingHitRate`."),
    ReasonCode("GRD010", "The configuration of the running scheduler could not be read.", "Check `--scheduler-url`, its certificate and the right to get /configz and /metrics; or declare it in YAML."),
    ReasonCode("GRD011", "The API server lists no node, or none that is Ready.", "Check that it is the right cluster, what `kubectl get nodes` answers, and why no kubelet reports itself Ready."),
    ReasonCode("GRD012", "The model was never compared with the kube-scheduler of this version.", "Hold its plans against where pods really go; then set `allowVersions` in a Scheduler document, as the message says."),
    # Readings
    ReasonCode("RDG001", "The metric source could not be read.", "Check the address, the credentials and the network."),
    ReasonCode("RDG002", "The metric source answered only in part.", "Repair what its warning names."),
    ReasonCode("RDG003", "Too few of the expected nodes or pods have a value.", "Repair the exporters, or lower `minCoverage`."),
    ReasonCode("RDG004", "The values are too old.", "Repair the exporters, or raise `maxAge`."),
    ReasonCode("RDG005", "A node, pod or device has several values that differ.", "Look for an exporter that is scraped twice, for one that has stopped, or for somebody else's series: `exporters[].matchers` of a document of kind Readings says which job is read."),
    ReasonCode("RDG006", "The values are not finite, or out of their range.", "Repair the exporter."),
    ReasonCode("RDG007", "The reading is not in the recorded snapshot.", "Record again with these policies."),
    ReasonCode("RDG008", "There is no reading of this name.", "Use a name of the table of readings in policies/README.md."),
    ReasonCode("RDG009", "The metric source does not have this metric at all.", "If its exporter runs, add the metric that the message names to what it exports; else install it."),
    ReasonCode("RDG010", "A node's load and the sum of its pods' usage disagree, so which pods cause the load is not known.", "Look for processes outside of pods, or for an exporter that misses pods."),
    ReasonCode("RDG011", "The query would read every cluster that the metric source has.", 'Put `$match` into its braces, such as `bytes_total{$match job="mesh"}`.'),
    ReasonCode("RDG017", "No exporter of this reading was ever seen, so what needs it is not judged.", "Install the exporter that the message names, or leave out the policy."),
    ReasonCode("RDG020", "The metric source has series of several clusters, whose nodes and pods may have the same names.", 'Give `--prometheus-selector` the label of this one, such as `cluster="eu-1"`.'),
    ReasonCode("RDG014", "The policy selects nodes with devices, and nothing is measured of any of them.", "Define the reading for them in a document of kind Readings, whose presets have some that are not built in; or leave these nodes out of `nodes`."),
    ReasonCode("RDG015", "A node reports more devices than it has to allocate.", "Look for devices that were withdrawn as unhealthy, or for series of another cluster."),
    ReasonCode("RDG016", "A value stands still, or is contradicted, so it is not believed.", "Restart the exporter, and look at what it reads from."),
    ReasonCode("RDG012", "Nobody reports which pods share which GPU of a node, so no pod leaves it for their sake.", "Set KUBERNETES_VIRTUAL_GPUS=true on dcgm-exporter."),
    # Policies
    ReasonCode("SPR001", "A domain holds more pods of a workload than its fair share and `maxSkew`.", "A move to an emptier domain repairs it.", "RestoreSpread"),
    ReasonCode("SPR002", "Pods run on nodes that are in no domain that the policy counts.", "Label the nodes with `topologyKey`; or check the pods' nodeSelector and affinity, and with `nodeTaintsPolicy: Honor` taints, cordons and nodes that are not Ready.", "RestoreSpread"),
    ReasonCode("SPR003", "Topology spread constraints do not select the pods that have them.", "Check their labelSelector; a constraint about other pods is not evaluated.", "RestoreSpread"),
    ReasonCode("SPR004", "Empty domains count although none of the pods could be placed there.", "Nothing to do if these nodes are only cordoned or down; else set `nodeTaintsPolicy: Honor` in the constraint, or narrow `nodes`.", "RestoreSpread"),
    ReasonCode("UTL001", "A node's load is above its target.", "A move to a node below its target repairs it.", "RebalanceUtilization"),
    ReasonCode("LOC001", "Pods are far from the pods or the domain that they exchange traffic with.", "A move nearer to the other end repairs it."),
    ReasonCode("LOC002", "Pods of a placement group are not together, or not apart, as declared.", "A move into the domain of the others, or out of a shared one, repairs it."),
    ReasonCode("LOC003", "Pods are far from the data that they read.", "A move nearer to a node that holds it repairs it."),
    ReasonCode("LOC004", "None of the pods that a pod's podAffinity asks for is near it.", "A move to where one of them is repairs it."),
    ReasonCode("LOC005", "All nodes are the same at every level of the topology.", "Label the nodes, or name their labels in `levels`."),
    ReasonCode("LOC006", "A preference for locality cannot be evaluated, and is left out.", "Change or remove the preference that the message names."),
    ReasonCode("UTL002", "A node with little load could be emptied, and still has pods.", "Moves to the other nodes free it.", "RebalanceUtilization"),
    ReasonCode("UTL003", "A GPU that pods share is above its target.", "A move to a node with a cooler GPU repairs it.", "RebalanceUtilization"),
    ReasonCode("UTL004", "Load would come to shared GPUs whose load is not known.", "Repair their exporter."),
    ReasonCode("HLT001", "A node's readings say that it, or a device of it, is broken.", "Repair the node; `action: Drain` moves its pods away."),
    ReasonCode("HLT002", "The readings of a device say that it is broken.", "Repair or replace it; `action: Drain` moves the pods that use it away."),
    ReasonCode("HLT003", "A device is broken, and which of the node's pods use it is not known.", "Let dcgm-exporter report pods (DCGM_EXPORTER_KUBERNETES=true); `unattributed: Drain` moves all that may use it."),
    ReasonCode("NUM001", "A pod's GPUs, NICs, CPUs or memory are in more NUMA zones than it needs.", "A move to a node with a zone that holds it repairs it."),
    ReasonCode("NUM002", "A pod is on a node that has a nearly full NUMA zone.", "A move to a node with more free capacity in its zones repairs it."),
    ReasonCode("NUM003", "The NUMA zones of some nodes or pods are not known.", "Install a topology exporter on every node, or repair it."),
    ReasonCode("NUM004", "Nothing in the cluster reports NUMA zones.", "Install NFD's topology-updater or another exporter of NodeResourceTopology, or a DRA driver that publishes the NUMA node of its devices."),
    ReasonCode("ALC001", "Pods request more of a node's resource than its target.", "A move to a node below its target repairs it."),
    ReasonCode("ALC002", "A node has a resource free that is of no use without another one.", "A move that brings what is free into balance repairs it."),
    ReasonCode("ALC003", "The targets that a node is annotated with cannot be read.", "Write them as JSON of quantities."),
    ReasonCode("ALC004", "A node with few requests could be emptied, and still has pods.", "Moves to the other nodes free it."),
    ReasonCode("IDL001", "Pods have GPUs to themselves and hardly use them.", "Ask their owner; no move repairs it."),
    ReasonCode("FRG001", "A node has free capacity that no pod of the cluster can use.", "A move that fills it, or frees enough for a whole pod, repairs it."),
    ReasonCode("FRG002", "Pending pods fit on no node.", "Moves that free enough on one node repair it; else add capacity."),
    ReasonCode("FRG003", "No pod requests a resource, so none of it can be stranded.", "Check the names of the resources."),
    ReasonCode("FRG004", "The pod makes room for a gang that waits, together with other pods: all of them are moved, or none.", "Read the other moves with the same room."),
    ReasonCode("FRG005", "Room is made for a whole gang or not at all, and not all moves that it takes can be made.", "Make a new plan; what was moved already stays where it is."),
    ReasonCode("FRG006", "Room for a whole gang takes more moves at once than the Limits ever allow.", "Raise the limit that the message names, or add capacity."),
    ReasonCode("CNF001", "Pods run on a node with a taint that they do not tolerate.", "A move to a node without it repairs it; or give the pods a toleration."),
    ReasonCode("CNF002", "Pods run on a node that their nodeSelector or required node affinity does not match.", "A move to a node that matches repairs it."),
    ReasonCode("CNF003", "Pods run on a node that their preferences rate lower than another.", "A move to a node that they prefer repairs it."),
    ReasonCode("CNF004", "Pods share a domain with pods that their anti-affinity keeps apart.", "A move of either to another domain repairs it."),
    ReasonCode("CNF005", "None of the pods that a pod's required podAffinity asks for is in its domain.", "A move to a domain that has one repairs it."),
    ReasonCode("CNF006", "Containers of the pods were restarted too often.", "Read their logs; another node helps where this one is the cause."),
    ReasonCode("CNF007", "Pods are older than the policy's `lifetime` allows.", "A move replaces them."),
    ReasonCode("CNF008", "Failed pods have not been removed.", "Find out why they failed; no move helps, and Kubernetes' pod garbage collection removes them."),
    ReasonCode("CNF009", "The pods of a namespace have more inter-pod terms about each other than are followed.", "Have its pods share their affinity; its other rules are evaluated."),
    # Stability: whether a finding has lasted for as long as its policy asks
    ReasonCode("STB001", "The finding has not lasted for `stableFor` yet.", "Wait: the message says until when; or lower `stableFor`."),
    ReasonCode("STB002", "How long the finding has lasted is not known.", "Repair what the message names; a finding of unknown age is not acted on."),
    ReasonCode("STB003", "What cycles find cannot be read or stored, so that policies with `stableFor` wait without end.", "Apply the component `remembering` of deploy/kustomize, and see what the message says of the ConfigMap."),
    # Measured gain: what moves have brought beside what they promised
    ReasonCode("MSR001", "The policy's moves brought too little of what it promised, so it counts as Audit.", "Find out why; then set `demoted` to `forget` in the state ConfigMap, or wait until the time that the message names."),
    ReasonCode("MSR002", "The policy's moves bring less than `minMeasuredShare` of what it promised.", "Find out what keeps the load where it was; the policy is demoted if it goes on."),
    ReasonCode("MSR003", "What a move has brought could not be measured.", "Repair the readings that the message names; the move counts neither for nor against its policy."),
    # Selections: policies that select what was not shown before, or nothing
    ReasonCode("SEL001", "The policy is new to `run`, as all are in its first run in Enforce, or has changed, so it counts as Audit first.", "See what it selects and would move; then wait until the time that the message names, set `selections` to `forget` in the state ConfigMap, or apply a plan."),
    ReasonCode("SEL002", "The policy selects far more pods or nodes than it was known to, so a run counts it as Audit first.", "Look for a wrong selector or label; if it is right, wait until the time that the message names, set `selections` to `forget` in the state ConfigMap, or apply a plan."),
    ReasonCode("SEL004", "A rule of the policy can never act, on any cluster or on this one as it is.", "Change the field that the message names, or drop it: as it is, its cost of 0 says nothing."),
    ReasonCode("SEL005", "This cluster has nothing that the policy judges.", "Leave it, if the cluster is meant to have nothing of the kind; else look whether the device plugin runs and the labels are set."),
    ReasonCode("SEL003", "The policy selects no pod, or no node, of this cluster.", "Look for a mistake in its `match` and `nodes`, or for a label that is no longer set."),
    # Outcomes
    ReasonCode("ACT001", "The pod was evicted.", ""),
    ReasonCode("ACT002", "The pod was gone already.", "Nothing to do."),
    ReasonCode("ACT003", "Another pod has its name now.", "Nothing to do; the new pod was left alone."),
    ReasonCode("ACT004", "The PodDisruptionBudget did not allow the eviction.", "A later cycle tries again; where its allowance is negative or too many evictions are not confirmed, see whether the disruption controller of kube-controller-manager works."),
    ReasonCode("ACT005", "The API server wants the request later.", "A later cycle tries again."),
    ReasonCode("ACT006", "Two PodDisruptionBudgets select the pod; the API server then refuses evictions.", "Change the budgets so that only one selects it."),
    ReasonCode("ACT007", "The API server forbids the eviction.", "Give the service account the right to create pods/eviction; behind the fence of deploy/ also label the namespace."),
    ReasonCode("ACT008", "The API server did not accept the eviction.", "Ask who runs the admission policy or webhook that the message names; annotate pods that must stay with rescheduler.io/opt-out."),
    ReasonCode("ACT009", "The API server did not answer: whether the pod was evicted is checked by its UID later.", "Nothing to do: it counts against its budgets meanwhile, and the workload rests if the pod stays; where it goes on, look for a webhook that fails."),
    ReasonCode("ACT010", "Not tried: the run stopped before it.", "Read the verdict."),
    ReasonCode("ACT011", "The replacement was not Ready in time.", "Find out why it is Pending or not Ready."),
    ReasonCode("ACT012", "The replacement came back to the node it left.", "Its workload is left alone for twice as long."),
    ReasonCode("ACT013", "Every move of the plan was tried.", "Each move has its result."),
    ReasonCode("ACT014", "The run was stopped, or its time was up.", "The next run continues."),
    ReasonCode("ACT015", "The lock was lost while acting; no further eviction was sent.", "Look for a second instance, or a slow API server."),
    ReasonCode("ACT016", "The cluster, its metrics, the state ConfigMap or the audit trail could not be read or written while acting.", "Repair what the message names; the next run continues."),
    ReasonCode("ACT017", "The pod crash-looped, and its replacement is not Ready either.", "Read its logs: its node was not the cause. It is not moved again within a day."),
    ReasonCode("ACT018", "The replacement restarts again and again.", "Read its logs; nothing more is evicted until its workload has all its pods Ready."),
    ReasonCode("ACT019", "The evicted pod is still there, five minutes past its grace period.", "Look at its finalizers and its node; its workload is left alone until it is gone."),
    ReasonCode("ACT020", "The replacement stayed Pending where it had to go, and was created again without steering.", "Name more nodes, or use `strength: Prefer`; its workload is left alone for longer."),
    ReasonCode("ACT021", "Kueue's Workload has changed, or could not be read in time, so its gang was not stopped.", "Make a new plan; let Kueue delete Workloads that have finished (objectRetentionPolicies)."),
    ReasonCode("ACT022", "The API server forbids to delete the Workload, so its gang was not stopped.", "Apply the component kueue-restart of deploy/: it gives the right to delete workloads.kueue.x-k8s.io."),
    ReasonCode("ACT023", "A pod of its workload cannot be read, so that it is not known what has become of it: it counts as evicted.", "Find the pod in the log: report or delete one that cannot be decoded, and let one be read that may not be; its workload cools down meanwhile."),
    ReasonCode("ACT024", "What the pod hangs on cannot be read right before its eviction, so it was left where it is.", "The message names what is odd, too large or refused; a later cycle tries again."),
    ReasonCode("ACT025", "The move does not fit into the state, so the pod was left where it is.", "Wait until older moves have lost their meaning, or lower `movesPerDay` or `coolDownCap`."),
    # Drift: what the re-check before a move found
    ReasonCode("DRF001", "The pod is on another node, or no longer Running and Ready.", "Make a new plan."),
    ReasonCode("DRF003", "The pod's node, or the node where it was expected, has changed.", "Make a new plan."),
    ReasonCode("DRF004", "The move would no longer gain enough, or would land elsewhere.", "Make a new plan."),
    ReasonCode("DRF005", "The pod's node is cordoned, not Ready or being taken away.", "Make a new plan."),
    ReasonCode("DRF006", "The pod's workload has changed: a rollout, a pause, a deletion, or missing pods.", "Make a new plan once it is stable."),
    ReasonCode("DRF007", "A PodDisruptionBudget or the namespace of the pod forbids the eviction now.", "A later cycle tries again."),
    ReasonCode("DRF008", "A move that makes room for this one was not made.", "Make a new plan."),
    # Steering: replacements that are sent to a node
    ReasonCode("STR001", "Steering is not set up, so nothing is steered.", "Apply the component of deploy/ that `steering` names; it also gives the right to write its table."),
    ReasonCode("STR002", "The API server does not steer by the table that was written.", "Apply deploy/kustomize/steering-policy or steering-webhook, and see whether the webhook runs; or restart kube-apiserver, if such a policy was removed before."),
    ReasonCode("STR003", "The table of replacements to steer has no room for this one.", "Name fewer nodes; or wait until others have landed."),
    ReasonCode("STR004", "The replacement could not be entered in the table of replacements to steer.", "Repair what the message names; a later cycle tries again."),
    ReasonCode("STR005", "The replacement came without the node affinity that it was to get.", "Look for an API server that does not read the table, or for a webhook that replaces the affinity."),
    ReasonCode("STR006", "The replacement stayed Pending where it had to go, so it was evicted, and its controller creates another one.", "Nothing to do; the next one goes where the scheduler puts it."),
    ReasonCode("STR007", "A replacement that stays Pending where it has to go was not released yet.", "A later cycle tries again; or delete the pod."),
    ReasonCode("STR010", "Nothing steers replacements here, so they go where kube-scheduler puts them.", "Apply deploy/kustomize/steering-policy, or steering-webhook before Kubernetes 1.34; write `steering: {by: None}` where nothing is to steer."),
    ReasonCode("STR014", "A node could not be tainted while the replacement comes, so the pod was left where it is; or a taint of the rescheduler could not be removed.", "Repair what the message names; a later cycle tries again."),
    # Notifications: messages to people outside of the cluster
    ReasonCode("NTF001", "A receiver's address, token or CA file cannot be read or used, so it gets no message.", "Mount the Secret into the folder of `--notification-files`, with the key that the message names; write one line into it."),
    ReasonCode("NTF002", "A receiver did not take a message.", "Check its address, its certificate, and that a NetworkPolicy lets the rescheduler reach it; the next cycle tries again."),
    ReasonCode("NTF003", "A message was left out: the receiver had as many about this occasion in the last hour as `perHour` allows.", "Nothing to do: the next message says how many were left out; or raise `perHour`."),
    ReasonCode("NTF004", "Messages about a cycle were left out: those of earlier cycles were still being sent.", "Lower `timeout` of the receiver that does not answer, or remove it."),
    # The data itself
    ReasonCode("DAT001", "An object could not be decoded; it is left out, and its node is left alone.", "Report the object to the maintainers."),
    ReasonCode("DAT002", "An optional kind of object could not be read.", "Install it, or grant the right to list it, if your policies need it."),
    ReasonCode("DAT003", "Pods that a Service sends requests to are moved, and do not tell when they serve: they have no readiness probe.", "Add a readinessProbe; without one a replacement counts as Ready as soon as its containers run, and requests may be lost that come before it serves."),
    ReasonCode("DAT004", "A kind of object that the API server serves could not be listed; the pods that it governs are left alone.", "Grant the right to list it (see deploy/kustomize/base/reader.yaml), or find out why what serves it fails."),
)  # fmt: skip

CATALOG: dict[str, ReasonCode] = {reason.code: reason for reason in _ALL}
"""Every reason by its code; those of limits on moves come with the rows of the Limits."""


def register(reason: ReasonCode) -> None:
    """Add the reason of a row of a table. Raises: ValueError where its code means another thing."""
    if CATALOG.setdefault(reason.code, reason) != reason:
        raise ValueError(f"{reason.code} has two meanings; give one a code of its own")


UNREPLACED = ("ACT011", "ACT017", "ACT018", "ACT019", "ACT020", "ACT023")
"""Of an evicted pod that did not go, or whose replacement was not Ready, or not to be read."""


def problem(code: str, detail: str = "") -> Problem:
    """A reason code with its sentence, and what it was in this case."""
    return Problem(code=code, message=f"{CATALOG[code].sentence} {detail}".strip())
