{{/* Change an object of a component as the values say. It answers nothing: the object itself is changed. */}}
{{- define "rescheduler.shape" -}}
{{- $object := .object -}}{{- $root := .root -}}{{- $values := .root.Values -}}
{{- $kind := $object.kind -}}{{- $name := $object.metadata.name -}}
{{- if eq "true" (dig "metadata" "labels" "rescheduler.io/keep" "" $object) -}}
{{- $_ := set $object.metadata "annotations" (dict "helm.sh/resource-policy" "keep") -}}
{{- end -}}
{{- if hasPrefix "MutatingAdmissionPolicy" $kind -}}
{{- $version := include "rescheduler.policyVersion" $root -}}
{{- $_ := set $object "apiVersion" (printf "admissionregistration.k8s.io/%s" $version) -}}
{{- end -}}
{{- if eq $name "rescheduler-settings" -}}
{{- $_ := set $object "data" (include "rescheduler.settings" $root | fromYaml) -}}
{{- end -}}
{{- if and (eq $name "rescheduler-policies") $values.policies.files -}}
{{- $_ := set $object "data" $values.policies.files -}}
{{- end -}}
{{- if and (eq $kind "ServiceAccount") (has $name (list "rescheduler" "rescheduler-audit")) -}}
{{- with $values.cloudIdentity.annotations }}{{ $_ := set $object.metadata "annotations" . }}{{ end -}}
{{- end -}}
{{- if eq $kind "PersistentVolumeClaim" -}}
{{- $_ := set $object.spec "accessModes" $values.trail.accessModes -}}
{{- $_ := set $object.spec.resources.requests "storage" $values.trail.size -}}
{{- with $values.trail.storageClass }}{{ $_ := set $object.spec "storageClassName" . }}{{ end -}}
{{- end -}}
{{- if eq $kind "CronJob" -}}
{{- $_ := set $object.spec "schedule" $values.schedule -}}
{{- $_ := set $object.spec "timeZone" $values.timeZone -}}
{{- end -}}
{{- if and (eq $kind "Deployment") (eq $name "rescheduler") }}{{ include "rescheduler.replicas" . }}{{ end -}}
{{- if has $kind (list "PodMonitor" "PrometheusRule") -}}
{{- with $values.monitoring.labels }}{{ $_ := set $object.metadata "labels" (merge $object.metadata.labels .) }}{{ end -}}
{{- end -}}
{{- if and (eq $kind "PodMonitor") (eq $name "rescheduler") -}}
{{- $endpoint := first $object.spec.podMetricsEndpoints -}}
{{- with $values.monitoring.authorization }}{{ $_ := set $endpoint "authorization" . }}{{ end -}}
{{- end -}}
{{- if eq $kind "Job" -}}
{{- $_ := set $object.metadata "annotations" (dict "helm.sh/hook" "test" "helm.sh/hook-delete-policy" "before-hook-creation") -}}
{{- end -}}
{{- $template := dig "spec" "jobTemplate" "spec" "template" (dig "spec" "template" nil $object) $object -}}
{{- if $template -}}
{{- include "rescheduler.pod" (dict "root" $root "object" $object "template" $template) -}}
{{- end -}}
{{- end -}}

{{/* How many run, and how one follows the other. */}}
{{- define "rescheduler.replicas" -}}
{{- $values := .root.Values -}}{{- $spec := .object.spec -}}
{{- $single := and $values.trail.enabled (not (has "ReadWriteMany" $values.trail.accessModes)) -}}
{{- if eq $values.mode "Enforce" }}{{ $_ := set $spec "replicas" 2 }}{{ end -}}
{{- if $single -}}
{{- $_ := set $spec "replicas" 1 -}}
{{- $_ := set $spec "strategy" (dict "rollingUpdate" (dict "maxSurge" 0 "maxUnavailable" 1)) -}}
{{- end -}}
{{- if not (kindIs "invalid" $values.replicas) }}{{ $_ := set $spec "replicas" $values.replicas }}{{ end -}}
{{- end -}}

{{/* What the values say of any pod: its image, where it runs, what it may use. */}}
{{- define "rescheduler.pod" -}}
{{- $root := .root -}}{{- $values := .root.Values -}}
{{- $spec := .template.spec -}}{{- $metadata := .template.metadata -}}
{{- $container := first $spec.containers -}}
{{- $_ := set $container "image" (include "rescheduler.image" $root) -}}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- with $values.image.pullSecrets }}{{ $_ := set $spec "imagePullSecrets" . }}{{ end -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" -}}
{{- with index $values.pods $field }}{{ $_ := set $spec $field . }}{{ end -}}
{{- end -}}
{{- with $values.pods.labels }}{{ $_ := set $metadata "labels" (merge $metadata.labels .) }}{{ end -}}
{{- with $values.pods.annotations }}{{ $_ := set $metadata "annotations" (deepCopy .) }}{{ end -}}
{{- if ne (first $spec.containers).name "webhook" -}}
{{- include "rescheduler.reader" . -}}
{{- end -}}
{{- end -}}

{{/* What reads the cluster and Prometheus: the rescheduler itself, doctor and the extender. */}}
{{- define "rescheduler.reader" -}}
{{- $root := .root -}}{{- $values := .root.Values -}}{{- $spec := .template.spec -}}
{{- $container := first $spec.containers -}}
{{- $metadata := .template.metadata -}}
{{- $sum := include "rescheduler.settings" $root | sha256sum -}}
{{- $_ := set $metadata "annotations" (merge (dict "checksum/settings" $sum) (default dict $metadata.annotations)) -}}
{{- with $values.cloudIdentity.podLabels }}{{ $_ := set $metadata "labels" (merge $metadata.labels .) }}{{ end -}}
{{- with $values.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- if eq $container.name "rescheduler" -}}
{{- $mode := dict "name" "RESCHEDULER_MODE" "value" $values.mode -}}
{{- $_ := set $container "env" (prepend (rest $container.env) $mode) -}}
{{- if eq $values.mode "Enforce" }}{{ $_ := set $spec "serviceAccountName" "rescheduler" }}{{ end -}}
{{- if eq .object.kind "Deployment" }}{{ $_ := set $container "args" (list "run" "--every" $values.every) }}{{ end -}}
{{- if eq $values.pageAccess "Kubernetes" -}}
{{- $access := dict "name" "RESCHEDULER_PAGE_ACCESS" "value" "Kubernetes" -}}
{{- if eq .object.kind "Deployment" }}{{ $_ := set $container "env" (append $container.env $access) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $values.policies.configMap -}}
{{- range $volume := $spec.volumes -}}
{{- if eq $volume.name "policies" }}{{ $_ := set $volume.configMap "name" $values.policies.configMap }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $volumes := list -}}
{{- if $values.prometheus.secret -}}
{{- $secret := dict "secretName" $values.prometheus.secret "defaultMode" 288 -}}
{{- $mount := dict "name" "metrics" "mountPath" "/etc/rescheduler/metrics" "readOnly" true -}}
{{- $volumes = append $volumes (dict "volume" (dict "name" "metrics" "secret" $secret) "mount" $mount) -}}
{{- end -}}
{{- if and (eq $container.name "rescheduler") (ne .object.kind "Job") -}}
{{- if $values.notifications.enabled -}}
{{- $secret := dict "secretName" $values.notifications.secret "defaultMode" 288 "optional" true -}}
{{- $mount := dict "name" "notifications" "mountPath" "/etc/rescheduler/notifications" "readOnly" true -}}
{{- $volumes = append $volumes (dict "volume" (dict "name" "notifications" "secret" $secret) "mount" $mount) -}}
{{- end -}}
{{- if $values.trail.enabled -}}
{{- $claim := dict "claimName" (default "rescheduler-trail" $values.trail.existingClaim) -}}
{{- $mount := dict "name" "trail" "mountPath" "/var/lib/rescheduler" -}}
{{- $volumes = append $volumes (dict "volume" (dict "name" "trail" "persistentVolumeClaim" $claim) "mount" $mount) -}}
{{- end -}}
{{- end -}}
{{- range $more := $volumes -}}
{{- $_ := set $spec "volumes" (append $spec.volumes $more.volume) -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $more.mount) -}}
{{- end -}}
{{- $_ := set $spec "volumes" (concat $spec.volumes $values.extra.volumes) -}}
{{- $_ := set $container "volumeMounts" (concat $container.volumeMounts $values.extra.volumeMounts) -}}
{{- $_ := set $container "env" (concat (default list $container.env) $values.extra.env) -}}
{{- end -}}

{{- define "rescheduler.image" -}}
{{- $image := .Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .Chart.AppVersion $image.tag }}{{ end -}}
{{- end -}}

{{/* The data of the ConfigMap rescheduler-settings. `settings` of the values beats the rest. */}}
{{- define "rescheduler.settings" -}}
{{- $values := .Values -}}{{- $prometheus := .Values.prometheus -}}
{{- $folder := "/etc/rescheduler/metrics" -}}
{{- $data := dict "RESCHEDULER_POLICIES" "/etc/rescheduler/policies" -}}
{{- with $prometheus.url }}{{ $_ := set $data "RESCHEDULER_PROMETHEUS_URL" . }}{{ end -}}
{{- with $prometheus.namespaces }}{{ $_ := set $data "RESCHEDULER_PROMETHEUS_NAMESPACES" (join "," .) }}{{ end -}}
{{- with $prometheus.selector }}{{ $_ := set $data "RESCHEDULER_PROMETHEUS_SELECTOR" . }}{{ end -}}
{{- with $prometheus.auth }}{{ $_ := set $data "RESCHEDULER_PROMETHEUS_AUTH" . }}{{ end -}}
{{- range $name, $key := $prometheus.files -}}
{{- $_ := set $data (printf "RESCHEDULER_PROMETHEUS_%s_FILE" (upper (snakecase $name))) (printf "%s/%s" $folder $key) -}}
{{- end -}}
{{- $headers := list -}}
{{- range $name, $key := $prometheus.headers -}}
{{- $headers = append $headers (printf "%s=@%s/%s" $name $folder $key) -}}
{{- end -}}
{{- with $headers }}{{ $_ := set $data "RESCHEDULER_PROMETHEUS_HEADER" (join " " .) }}{{ end -}}
{{- with $values.scheduler.url }}{{ $_ := set $data "RESCHEDULER_SCHEDULER_URL" . }}{{ end -}}
{{- if $values.trail.enabled }}{{ $_ := set $data "RESCHEDULER_AUDIT_TRAIL" "/var/lib/rescheduler/" }}{{ end -}}
{{- toYaml (merge (deepCopy $values.settings) $data) -}}
{{- end -}}
