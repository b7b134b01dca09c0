{{/* Values of pods and Services that contradict each other, or the version of Kubernetes. */}}

{{- define "weir.checkPods" -}}
{{- $drain := addf (include "weir.milliseconds" .Values.drain.delay | float64) (include "weir.milliseconds" .Values.drain.timeout | float64) | int }}
{{- if ge $drain (mul 1000 (int .Values.terminationGracePeriodSeconds)) }}
{{- fail (printf "terminationGracePeriodSeconds: is %d, but drain.delay and drain.timeout take %d ms together, and then Kubernetes would kill Weir during its drain; set it higher" (int .Values.terminationGracePeriodSeconds) $drain) }}
{{- end }}
{{- if and .Values.podDisruptionBudget.unhealthyPodEvictionPolicy (semverCompare "<1.27.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "podDisruptionBudget.unhealthyPodEvictionPolicy: needs Kubernetes 1.27 or newer, but this is %s; remove it" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and (eq .Values.strategy.type "RollingUpdate") .Values.strategy.rollingUpdate }}
{{- with .Values.strategy.rollingUpdate }}
{{- if and (has (toString .maxUnavailable) (list "0" "0%")) (has (toString .maxSurge) (list "0" "0%")) }}
{{- fail "strategy.rollingUpdate: maxUnavailable and maxSurge are both 0, so no pod could ever be replaced; set one of them" }}
{{- end }}
{{- end }}
{{- end }}
{{- range .Values.topologySpread }}
{{- if and .minDomains (ne .whenUnsatisfiable "DoNotSchedule") }}
{{- fail (printf "topologySpread: minDomains of %s needs whenUnsatisfiable: DoNotSchedule; change it, or remove minDomains" .topologyKey) }}
{{- end }}
{{- end }}
{{- $containers := list "weir" }}
{{- range concat .Values.initContainers .Values.extraContainers }}
{{- if has .name $containers }}
{{- fail (printf "extraContainers: the pod has two containers with the name %s; rename one" .name) }}
{{- end }}
{{- $containers = append $containers .name }}
{{- end }}
{{- $mounted := list }}
{{- range include "weir.volumes" (dict "context" .) | fromYamlArray }}
{{- if has .name $mounted }}
{{- fail (printf "extraVolumes: the pod has two volumes with the name %s; rename yours" .name) }}
{{- end }}
{{- $mounted = append $mounted .name }}
{{- end }}
{{- with .Values.autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
{{- fail (printf "autoscaling.minReplicas: is %d, more than autoscaling.maxReplicas (%d); set it lower" (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- if and .enabled (eq (int .cpuMillicoresPerWorker) 0) (not .metrics) }}
{{- fail "autoscaling.metrics: is empty, and autoscaling.cpuMillicoresPerWorker is 0, so nothing would scale; set one of them" }}
{{- end }}
{{- end }}
{{- $names := list }}
{{- range include "weir.environment" . | fromYamlArray }}
{{- if has .name $names }}
{{- fail (printf "extraEnv: has %s, which another value sets; remove one of them" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- end -}}

{{- define "weir.checkServices" -}}
{{- if and .Values.service.trafficDistribution (semverCompare "<1.31.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "service.trafficDistribution: needs Kubernetes 1.31 or newer, but this is %s; remove it" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- with .Values.service }}
{{- if and (ne .type "LoadBalancer") (or .loadBalancerSourceRanges .loadBalancerClass) }}
{{- fail (printf "service.%s: is set, but service.type is %s; set service.type to LoadBalancer" (ternary "loadBalancerClass" "loadBalancerSourceRanges" (ne .loadBalancerClass "")) .type) }}
{{- end }}
{{- if and .externalTrafficPolicy (eq .type "ClusterIP") }}
{{- fail "service.externalTrafficPolicy: is set, but service.type is ClusterIP, which nothing outside of the cluster reaches; set service.type to LoadBalancer or NodePort" }}
{{- end }}
{{- if and .clusterIP (ne .type "ClusterIP") }}
{{- fail (printf "service.clusterIP: is %s, but service.type is %s; remove one of them" .clusterIP .type) }}
{{- end }}
{{- end }}
{{- end -}}
