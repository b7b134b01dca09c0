{{/* Values that fit the schema but not each other. Each message names the value, and what to do. */}}

{{/* A duration such as 1m30s in milliseconds. */}}
{{- define "weir.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $total := 0 -}}
{{- range regexFindAll "\\d+(ms|s|m|h)" (toString .) -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $total = add $total (mul (trimSuffix $unit . | int) (get $units $unit)) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{- define "weir.checks" -}}
{{- if .Values.workload.enabled }}
{{- include "weir.checkConfig" . }}
{{- include "weir.checkRedis" . }}
{{- include "weir.checkTls" . }}
{{- include "weir.checkAdmin" . }}
{{- include "weir.checkPods" . }}
{{- else if not .Values.workload.selectorLabels }}
{{- fail "workload.selectorLabels: is empty, but workload.enabled is false; set the labels of the pods that another program starts" }}
{{- end }}
{{- include "weir.checkNetwork" . }}
{{- end -}}

{{- define "weir.checkConfig" -}}
{{- with .Values.config }}
{{- if eq .source "xds" }}
{{- if not (regexMatch ":\\d+$" .xds.server) }}
{{- fail (printf "config.xds.server: is %q, but config.source is xds; set host:port of the management server" .xds.server) }}
{{- end }}
{{- if or .files .existingConfigMap .example }}
{{- fail "config.source: is xds, so config.files, config.existingConfigMap and config.example have no effect; remove them, or set config.source to files" }}
{{- end }}
{{- if and .xds.tls.clientCertificate (not .xds.tls.existingSecret) }}
{{- fail "config.xds.tls.existingSecret: is empty, but config.xds.tls.clientCertificate is true; name the Secret with tls.crt and tls.key" }}
{{- end }}
{{- else }}
{{- $sources := 0 }}
{{- if .files }}{{ $sources = add1 $sources }}{{ end }}
{{- if .existingConfigMap }}{{ $sources = add1 $sources }}{{ end }}
{{- if .example }}{{ $sources = add1 $sources }}{{ end }}
{{- if eq (int $sources) 0 }}
{{- fail "config.files: is empty; put your limits there, name a ConfigMap in config.existingConfigMap, or set config.example for a try" }}
{{- end }}
{{- if gt (int $sources) 1 }}
{{- fail "config.files: only one of config.files, config.existingConfigMap and config.example can be set; remove the others" }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "weir.checkRedis" -}}
{{- $redis := .Values.redis }}
{{- if not (or $redis.url $redis.urlSecret.name $redis.demo.enabled) }}
{{- fail "redis.url: is empty; set the address of your Redis, name a Secret with it in redis.urlSecret.name, or set redis.demo.enabled for a try" }}
{{- end }}
{{- if and $redis.demo.enabled (or $redis.url $redis.urlSecret.name) }}
{{- fail "redis.demo.enabled: is true, but redis.url or redis.urlSecret.name names another Redis; remove one of them" }}
{{- end }}
{{- if and $redis.url $redis.urlSecret.name }}
{{- fail "redis.urlSecret.name: redis.url is set, too; remove one of them" }}
{{- end }}
{{- include "weir.checkNoPassword" (dict "name" "redis.url" "url" $redis.url) }}
{{- if and $redis.tls.clientCertificate (not $redis.tls.existingSecret) }}
{{- fail "redis.tls.existingSecret: is empty, but redis.tls.clientCertificate is true; name the Secret with tls.crt and tls.key" }}
{{- end }}
{{- if and $redis.sentinelAuth.existingSecret (ne $redis.type "sentinel") }}
{{- fail (printf "redis.sentinelAuth.existingSecret: is set, but redis.type is %s; set redis.type to sentinel" $redis.type) }}
{{- end }}
{{- with $redis.perSecond }}
{{- if and .enabled (not (or .url .urlSecret.name)) }}
{{- fail "redis.perSecond.url: is empty, but redis.perSecond.enabled is true; set the address of the second Redis" }}
{{- end }}
{{- include "weir.checkNoPassword" (dict "name" "redis.perSecond.url" "url" .url) }}
{{- end }}
{{- end -}}

{{- define "weir.checkNoPassword" -}}
{{- if contains "@" (.url | default "") }}
{{- fail (printf "%s: has a password, which everybody who may read the Deployment could read; use %s, or a Secret in %s" .name (replace "url" "auth.existingSecret" .name) (replace "url" "urlSecret.name" .name)) }}
{{- end }}
{{- end -}}

{{- define "weir.checkTls" -}}
{{- with .Values.tls }}
{{- if and .enabled (not .existingSecret) }}
{{- fail "tls.existingSecret: is empty, but tls.enabled is true; name the Secret with tls.crt and tls.key" }}
{{- end }}
{{- if and .clients.verify (not .enabled) }}
{{- fail "tls.clients.verify: is true, but tls.enabled is false; set tls.enabled" }}
{{- end }}
{{- if and .clients.san (not .clients.verify) }}
{{- fail "tls.clients.san: is set, but tls.clients.verify is false; set tls.clients.verify" }}
{{- end }}
{{- if and .clients.verify (not .clients.testSecret) $.Values.test.enabled }}
{{- fail "tls.clients.testSecret: is empty, but helm test needs a client certificate with tls.clients.verify; name a Secret, or set test.enabled to false" }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "weir.checkAdmin" -}}
{{- with .Values.admin }}
{{- if .enabled }}
{{- if not (or .tokens.existingSecret .jwt.existingSecret) }}
{{- fail "admin.tokens.existingSecret: is empty, but admin.enabled is true; name a Secret with tokens, or one with keys of JWTs in admin.jwt.existingSecret" }}
{{- end }}
{{- if and .jwt.existingSecret (not (and .jwt.issuer .jwt.audience)) }}
{{- fail "admin.jwt.issuer: admin.jwt.existingSecret needs admin.jwt.issuer and admin.jwt.audience; set both" }}
{{- end }}
{{- if and .tls.verifyClients (not .tls.existingSecret) }}
{{- fail "admin.tls.existingSecret: is empty, but admin.tls.verifyClients is true; name the Secret with tls.crt, tls.key and ca.crt" }}
{{- end }}
{{- if has (int .port) (list 8080 8081 6070) }}
{{- fail (printf "admin.port: is %d, which another port of Weir has; choose another number" (int .port)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "weir.checkPods" -}}
{{- $drain := add (include "weir.milliseconds" .Values.drain.delay | int) (include "weir.milliseconds" .Values.drain.timeout | int) }}
{{- if ge $drain (mul 1000 (int .Values.terminationGracePeriodSeconds)) }}
{{- fail (printf "terminationGracePeriodSeconds: is %d, but drain.delay and drain.timeout take %d ms together, and then Kubernetes would kill Weir during its drain; set it higher" (int .Values.terminationGracePeriodSeconds) $drain) }}
{{- end }}
{{- if and .Values.service.trafficDistribution (semverCompare "<1.31.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "service.trafficDistribution: needs Kubernetes 1.31 or newer, but this is %s; remove it" .Capabilities.KubeVersion.Version) }}
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

{{- define "weir.checkNetwork" -}}
{{- with .Values.networkPolicy }}
{{- if and .enabled (not .gateways) }}
{{- fail "networkPolicy.gateways: is empty, so no Envoy would reach Weir; list the peers that ask for decisions" }}
{{- end }}
{{- if and .enabled .egress.enabled (not .egress.redisPorts) $.Values.redis.urlSecret.name }}
{{- fail "networkPolicy.egress.redisPorts: is empty, and the address is in a Secret; list the ports of your Redis" }}
{{- end }}
{{- end }}
{{- with .Values.monitoring }}
{{- if and .podMonitor.enabled .serviceMonitor.enabled }}
{{- fail "monitoring.serviceMonitor.enabled: monitoring.podMonitor.enabled is true, too, so Prometheus would count everything twice; disable one of them" }}
{{- end }}
{{- if and .serviceMonitor.enabled (not (and $.Values.workload.enabled $.Values.service.ports.debug)) }}
{{- fail "monitoring.serviceMonitor.enabled: the Service has no port for it; set service.ports.debug, or use monitoring.podMonitor" }}
{{- end }}
{{- end }}
{{- end -}}
