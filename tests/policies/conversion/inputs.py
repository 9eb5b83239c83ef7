"""Files of descheduler in each form that is converted, with as many fields as fit."""

V1ALPHA2 = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: pool=web,!spot,tier in (a, b),size!=small
maxNoOfPodsToEvictPerNamespace: 4
maxNoOfPodsToEvictTotal: 60
gracePeriodSeconds: 30
metricsCollector: {enabled: true}
metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: rules
  pluginConfig:
  - name: DefaultEvictor
    args:
      nodeFit: true
      minReplicas: 3
      minPodAge: 20m0s
      evictLocalStoragePods: true
      evictDaemonSetPods: true
      evictFailedBarePods: true
      ignorePvcPods: true
      ignorePodsWithoutPDB: true
      nodeSelector: pool=db
      noEvictionPolicy: Preferred
      priorityThreshold: {value: 1000}
      labelSelector: {matchLabels: {app: web}}
      namespaceLabelSelector: {matchExpressions: [{key: team, operator: Exists}]}
  - name: RemovePodsViolatingNodeTaints
    args:
      includePreferNoSchedule: true
      excludedTaints: [example.com/odd, dedicated=gpu]
      includedTaints: [example.com/broken]
      namespaces: {exclude: [monitoring]}
      labelSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [db]}]}
  - name: RemovePodsViolatingNodeAffinity
    args: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}
  - name: RemovePodsViolatingInterPodAntiAffinity
    args: {namespaces: {include: [shop, bank]}}
  - name: RemovePodsHavingTooManyRestarts
    args: {podRestartThreshold: 7, includingInitContainers: true, states: [CrashLoopBackOff]}
  - name: PodLifeTime
    args:
      maxPodLifeTimeSeconds: 86400
      states: [Running, Failed, Succeeded]
      ownerKinds: {exclude: [Job]}
      includingInitContainers: true
      includingEphemeralContainers: true
      conditions: [{type: Ready, status: "False"}]
      exitCodes: [3]
  - name: RemoveFailedPods
    args:
      excludeOwnerKinds: [Job]
      minPodLifetimeSeconds: 3600
      reasons: [NodeAffinity]
      exitCodes: [1]
      includingInitContainers: true
  plugins:
    deschedule:
      enabled:
      - RemovePodsViolatingNodeTaints
      - RemovePodsViolatingNodeAffinity
      - RemovePodsViolatingInterPodAntiAffinity
      - RemovePodsHavingTooManyRestarts
      - PodLifeTime
      - RemoveFailedPods
    filter: {enabled: [DefaultEvictor]}
- name: balance
  pluginConfig:
  - name: DefaultEvictor
    args:
      podProtections:
        extraEnabled: [PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims]
        defaultDisabled: [PodsWithLocalStorage]
        config: {PodsWithPVC: {protectedStorageClasses: [{name: fast}]}}
      priorityThreshold: {name: important}
  - name: LowNodeUtilization
    args:
      thresholds: {cpu: 20, memory: 20}
      targetThresholds: {cpu: 50.5, memory: 60}
      numberOfNodes: 3
      evictableNamespaces: {exclude: [monitoring]}
      evictionLimits: {node: 3}
  - name: HighNodeUtilization
    args: {thresholds: {cpu: 20, memory: 30}, evictionModes: [OnlyThresholdingResources]}
  - name: RemoveDuplicates
    args: {excludeOwnerKinds: [ReplicaSet], namespaces: {exclude: [ops]}}
  - name: RemovePodsViolatingTopologySpreadConstraint
    args: {constraints: [DoNotSchedule, ScheduleAnyway], topologyBalanceNodeFit: true}
  plugins:
    balance:
      enabled:
      - LowNodeUtilization
      - HighNodeUtilization
      - RemoveDuplicates
      - RemovePodsViolatingTopologySpreadConstraint
"""

V1ALPHA1 = """\
apiVersion: descheduler/v1alpha1
kind: DeschedulerPolicy
nodeSelector: pool=web
evictLocalStoragePods: true
evictSystemCriticalPods: false
ignorePvcPods: true
maxNoOfPodsToEvictPerNode: 3
maxNoOfPodsToEvictPerNamespace: 4
strategies:
  RemoveDuplicates:
    enabled: true
    weight: 3
    params: {removeDuplicates: {excludeOwnerKinds: [ReplicaSet]}, namespaces: {exclude: [ops]}}
  LowNodeUtilization:
    enabled: true
    params:
      nodeResourceUtilizationThresholds:
        thresholds: {cpu: 20, memory: 20}
        targetThresholds: {cpu: 50, memory: 50}
        numberOfNodes: 3
      thresholdPriority: 1000
      nodeFit: true
  PodLifeTime:
    enabled: true
    params: {podLifeTime: {maxPodLifeTimeSeconds: 600, podStatusPhases: [Pending]}}
  RemovePodsHavingTooManyRestarts:
    enabled: false
    params: {podsHavingTooManyRestarts: {podRestartThreshold: 5}}
"""

DEVIATIONS = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- pluginConfig:
  - name: LowNodeUtilization
    args:
      useDeviationThresholds: true
      thresholds: {cpu: 10, memory: 10, pods: 20}
      targetThresholds: {cpu: 10, memory: 20, pods: 20}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""

MEASURED = DEVIATIONS + "metricsCollector: {enabled: true}\n"
MEASURED = MEASURED.replace(
    "      thresholds", "      metricsUtilization: {source: KubernetesMetrics}\n      thresholds"
)

PACKING = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- pluginConfig:
  - name: HighNodeUtilization
    args: {thresholds: {cpu: 20}}
  plugins: {balance: {enabled: [HighNodeUtilization]}}
"""

HELM = """\
kind: Deployment
schedule: "*/2 * * * *"
deschedulingInterval: 5m
replicas: 2
leaderElection: {enabled: true}
resources: {requests: {cpu: 500m}}
unknownValue: 3
cmdOptions: {v: 3, dry-run: true}
deschedulerPolicyAPIVersion: descheduler/v1alpha2
deschedulerPolicy:
  maxNoOfPodsToEvictTotal: 5
  profiles:
  - name: default
    pluginConfig:
    - name: RemovePodsHavingTooManyRestarts
      args: {podRestartThreshold: 100}
    plugins: {deschedule: {enabled: [RemovePodsHavingTooManyRestarts]}}
"""

SUBCHART = "descheduler:\n" + "".join(f"  {line}\n" for line in HELM.splitlines())
SUBCHART = f"ingress: {{replicas: 3}}\n{SUBCHART}"

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: descheduler}
data:
  other: text
  policy.yaml: |
    apiVersion: descheduler/v1alpha2
    kind: DeschedulerPolicy
    profiles:
    - name: default
      pluginConfig:
      - name: RemoveDuplicates
        args: {excludeOwnerKinds: [Job]}
      plugins: {balance: {enabled: [RemoveDuplicates]}}
"""

OPENSHIFT = """\
apiVersion: operator.openshift.io/v1
kind: KubeDescheduler
metadata: {name: cluster}
spec:
  managementState: Managed
  logLevel: Normal
  mode: Automatic
  deschedulingIntervalSeconds: 3600
  evictionLimits: {total: 7, node: 2}
  profiles: [AffinityAndTaints, SoftTopologyAndDuplicates, LifecycleAndUtilization, CompactAndScale]
  profileCustomizations:
    podLifetime: 48h
    thresholdPriority: 5000
    namespaces: {excluded: [billing]}
    devLowNodeUtilizationThresholds: High
    devHighNodeUtilizationThresholds: Moderate
    devEnableEvictionsInBackground: true
"""

KOORDINATOR = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 60s
leaderElection: {leaderElect: true}
nodeSelector: {matchLabels: {kind: worker}}
maxNoOfPodsToEvictTotal: 8
profiles:
- name: koord-descheduler
  plugins:
    deschedule: {disabled: [{name: "*"}]}
    balance: {enabled: [{name: LowNodeLoad}]}
    evict: {enabled: [{name: MigrationController}]}
  pluginConfig:
  - name: MigrationController
    args:
      apiVersion: descheduler/v1alpha2
      kind: MigrationControllerArgs
      maxMigratingPerNode: 2
      maxMigratingPerWorkload: 2
      maxUnavailablePerWorkload: 10%
      evictionPolicy: Eviction
      evictLocalStoragePods: true
      namespaces: {exclude: [ops]}
  - name: LowNodeLoad
    args:
      nodeMetricExpirationSeconds: 120
      numberOfNodes: 2
      evictableNamespaces: {exclude: [koordinator-system]}
      podSelectors: [{name: web, selector: {matchLabels: {app: web}}}]
      highThresholds: {cpu: 65, memory: 75}
      lowThresholds: {cpu: 45, memory: 50}
      prodHighThresholds: {cpu: 60}
      resourceWeights: {cpu: 2}
      anomalyCondition: {consecutiveAbnormalities: 3, timeout: 1m}
      nodePools:
      - name: batch
        nodeSelector: {matchLabels: {pool: batch}}
        useDeviationThresholds: true
        highThresholds: {cpu: 10}
"""

INPUTS = {
    "v1alpha2": V1ALPHA2,
    "v1alpha1": V1ALPHA1,
    "deviations": DEVIATIONS,
    "measured": MEASURED,
    "helm": HELM,
    "subchart": SUBCHART,
    "config map": CONFIG_MAP,
    "openshift": OPENSHIFT,
    "koordinator": KOORDINATOR,
}
"""One file of each form."""
