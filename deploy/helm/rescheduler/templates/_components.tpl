{{/* The components of deploy/kustomize that these values ask for, as a YAML list. */}}
{{- define "rescheduler.components" -}}
{{- $values := .Values -}}
{{- $enforce := eq $values.mode "Enforce" -}}
{{- $components := list "base" (lower $values.kind) -}}
{{- if $enforce }}{{ $components = append $components "acting" }}{{ end -}}
{{- if or $enforce $values.remembering }}{{ $components = append $components "remembering" }}{{ end -}}
{{- if $values.scheduler.read }}{{ $components = append $components "scheduler-reading" }}{{ end -}}
{{- if $values.doctor }}{{ $components = append $components "doctor" }}{{ end -}}
{{- if eq $values.pageAccess "Kubernetes" }}{{ $components = append $components "page-access" }}{{ end -}}
{{- if $values.notifications.enabled }}{{ $components = append $components "notifications" }}{{ end -}}
{{- if and $values.trail.enabled (not $values.trail.existingClaim) -}}
{{- $components = append $components "trail-volume" -}}
{{- end -}}
{{- if $values.monitoring.enabled }}{{ $components = append $components "monitoring" }}{{ end -}}
{{- if $values.networkPolicy.metricsElsewhere }}{{ $components = append $components "metrics-elsewhere" }}{{ end -}}
{{- if $values.cloudIdentity.enabled }}{{ $components = append $components "cloud-identity" }}{{ end -}}
{{- if $values.fence.enabled }}{{ $components = append $components "fence" }}{{ end -}}
{{- if $values.fence.optOuts }}{{ $components = append $components "fence-opt-outs" }}{{ end -}}
{{- /* What steers and what acts in other ways is of no use in Audit. */ -}}
{{- if $enforce -}}
{{- if $values.kueueRestart }}{{ $components = append $components "kueue-restart" }}{{ end -}}
{{- if or (include "rescheduler.policyVersion" .) $values.steering.webhook $values.steering.extender -}}
{{- $components = append $components "steering-table" -}}
{{- end -}}
{{- if include "rescheduler.policyVersion" . }}{{ $components = append $components "steering-policy" }}{{ end -}}
{{- range $means := list "webhook" "extender" "taint" -}}
{{- if index $values.steering $means }}{{ $components = append $components (printf "steering-%s" $means) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $components -}}
{{- end -}}

{{/* The version of MutatingAdmissionPolicy to steer by, or nothing. Auto: the newest that is served. */}}
{{- define "rescheduler.policyVersion" -}}
{{- $wanted := .Values.steering.policy -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if has $wanted (list "v1" "v1beta1") -}}
{{- $wanted -}}
{{- else if eq $wanted "Auto" -}}
{{- if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) -}}
v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
v1beta1
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether this object of a component is left out. */}}
{{- define "rescheduler.without" -}}
{{- $values := .root.Values -}}{{- $kind := .object.kind -}}{{- $name := .object.metadata.name -}}
{{- if and (eq $kind "Namespace") (not $values.createNamespace) -}}
yes
{{- else if and (eq $kind "NetworkPolicy") (not $values.networkPolicy.enabled) -}}
yes
{{- else if and (eq $name "rescheduler-policies") $values.policies.configMap -}}
yes
{{- else if and (eq $kind "ClusterRoleBinding") (eq $name "rescheduler-evictor") $values.evictions.namespaces -}}
yes
{{- end -}}
{{- end -}}

{{/* Fail with the reason where values contradict each other, or what is needed is missing. */}}
{{- define "rescheduler.check" -}}
{{- $values := .Values -}}
{{- if and (ne .Release.Namespace "rescheduler") (not $values.createNamespace) -}}
{{- fail (printf "\n\nThe lock and the state of a cluster are in namespace rescheduler, not in %q.\nMaybe install with --namespace rescheduler --create-namespace." .Release.Namespace) -}}
{{- end -}}
{{- $settings := include "rescheduler.settings" . | fromYaml -}}
{{- $closed := or (eq $values.pageAccess "Kubernetes") (hasKey $settings "RESCHEDULER_LISTEN_TOKEN_FILE") -}}
{{- if and $closed (eq $values.kind "Deployment") $values.monitoring.enabled (not $values.monitoring.authorization.credentials) -}}
{{- fail "\n\nmonitoring.enabled scrapes /metrics, which pageAccess: Kubernetes or a listen token shows only to those with a token, and monitoring.authorization has no credentials.\nMaybe set monitoring.authorization.credentials to {name: SECRET, key: token}; deploy/monitoring/README.md says how to make one." -}}
{{- end -}}
{{- $url := index $settings "RESCHEDULER_PROMETHEUS_URL" -}}
{{- if and (eq $values.mode "Enforce") (has $url (list nil "" "auto")) -}}
{{- fail "\n\nmode: Enforce acts only on a Prometheus whose address is written down, and prometheus.url is empty.\nMaybe add --set prometheus.url=http://prometheus-operated.monitoring.svc:9090, with the name of your own Service." -}}
{{- end -}}
{{- if and $values.policies.configMap $values.policies.files -}}
{{- fail "\n\npolicies.configMap and policies.files were both given.\nMaybe keep one of them: policies come from one ConfigMap." -}}
{{- end -}}
{{- if and $values.kueueRestart $values.evictions.namespaces (not $values.fence.enabled) -}}
{{- fail "\n\nkueueRestart gives the right to delete Workloads in all namespaces, and evictions.namespaces bounds evictions only.\nMaybe set fence.enabled=true too: it holds both to namespaces with the label rescheduler.io/evictions=allowed." -}}
{{- end -}}
{{- if and $values.fence.optOuts (not $values.fence.enabled) -}}
{{- fail "\n\nfence.optOuts is part of the fence, and fence.enabled is false.\nMaybe set fence.enabled=true too." -}}
{{- end -}}
{{- if and (or $values.prometheus.files $values.prometheus.headers) (not $values.prometheus.secret) -}}
{{- fail "\n\nprometheus.files and prometheus.headers name keys of a Secret, and prometheus.secret is empty.\nMaybe set prometheus.secret to its name." -}}
{{- end -}}
{{- end -}}
