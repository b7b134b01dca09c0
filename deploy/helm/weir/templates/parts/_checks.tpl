{{/* Values that fit the schema but not each other. Each message names the value, and what to do. */}}

{{- define "weir.checks" -}}
{{- include "weir.checkNames" . }}
{{- include "weir.checkSettings" . }}
{{- if .Values.workload.enabled }}
{{- include "weir.checkConfig" . }}
{{- include "weir.checkRedis" . }}
{{- include "weir.checkTls" . }}
{{- include "weir.checkAdmin" . }}
{{- include "weir.checkPods" . }}
{{- include "weir.checkServices" . }}
{{- else if not .Values.workload.selectorLabels }}
{{- fail "workload.selectorLabels: is empty, but workload.enabled is false; set the labels of the pods that another program starts" }}
{{- end }}
{{- include "weir.checkNetwork" . }}
{{- end -}}

{{- define "weir.checkNames" -}}
{{- $checks := .Files.Get "files/checks.json" | fromJson }}
{{- range $name, $own := $checks.foreignNames }}
{{- if hasKey $.Values $name }}
{{- fail (printf "%s: is not a value of this chart; use %s" $name $own) }}
{{- end }}
{{- end }}
{{- range $name := list "commonLabels" "podLabels" }}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/managed-by" }}
{{- if hasKey (get $.Values $name) $label }}
{{- fail (printf "%s: has %s, by which Services and Helm find objects; remove it (nameOverride sets app.kubernetes.io/name)" $name $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.image.tag .Values.image.digest }}
{{- fail (printf "image.tag: is %s, but image.digest decides alone; set image.digest to \"\", or remove image.tag" .Values.image.tag) }}
{{- end }}
{{- end -}}

{{- define "weir.checkConfig" -}}
{{- with .Values.config }}
{{- if eq .source "xds" }}
{{- if not (regexMatch ":\\d+$" .xds.server) }}
{{- fail (printf "config.xds.server: is %q, but config.source is xds; set host:port of the management server" .xds.server) }}
{{- end }}
{{- if or .files .existingConfigMap .configMaps .volume .example }}
{{- fail "config.source: is xds, so config.files, config.existingConfigMap, config.configMaps, config.volume and config.example have no effect; remove them, or set config.source to files" }}
{{- end }}
{{- if and .xds.tls.clientCertificate (not .xds.tls.existingSecret) }}
{{- fail "config.xds.tls.existingSecret: is empty, but config.xds.tls.clientCertificate is true; name the Secret with tls.crt and tls.key" }}
{{- end }}
{{- else }}
{{- $sources := 0 }}
{{- if .files }}{{ $sources = add1 $sources }}{{ end }}
{{- if .existingConfigMap }}{{ $sources = add1 $sources }}{{ end }}
{{- if .example }}{{ $sources = add1 $sources }}{{ end }}
{{- if .volume }}{{ $sources = add1 $sources }}{{ end }}
{{- if and (eq (int $sources) 0) (not .configMaps) }}
{{- fail "config.files: is empty; put your limits there, name ConfigMaps in config.existingConfigMap or config.configMaps, or set config.example for a try" }}
{{- end }}
{{- if gt (int $sources) 1 }}
{{- fail "config.files: only one of config.files, config.existingConfigMap, config.volume and config.example can be set; remove the others" }}
{{- end }}
{{- if and .volume .configMaps }}
{{- fail "config.configMaps: config.volume is set, too, and they would be inside of it; use a projected volume, or remove one of them" }}
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
{{- with $redis.url }}{{ $_ := include "weir.addressPorts" (dict "name" "redis.url" "type" $redis.type "url" .) }}{{ end }}
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
{{- if and .enabled .url }}{{ $_ := include "weir.addressPorts" (dict "name" "redis.perSecond.url" "type" .type "url" .url) }}{{ end }}
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
{{- if and .ingress.enabled (not .ingress.hosts) }}
{{- fail "admin.ingress.hosts: is empty, so the Ingress would lead to the console for every host name; list yours" }}
{{- end }}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) }}
{{- fail "admin.httpRoute.parentRefs: is empty; list the Gateways of the route" }}
{{- end }}
{{- if and $.Values.networkPolicy.enabled (not $.Values.networkPolicy.admin) (or .ingress.enabled .httpRoute.enabled) }}
{{- fail "networkPolicy.admin: is empty, so the Ingress or Gateway would not reach the console; list its pods" }}
{{- end }}
{{- if has (int .port) (list 8080 8081 6070) }}
{{- fail (printf "admin.port: is %d, which another port of Weir has; choose another number" (int .port)) }}
{{- end }}
{{- else if or .ingress.enabled .httpRoute.enabled }}
{{- fail "admin.enabled: is false, but admin.ingress or admin.httpRoute leads to the console; set admin.enabled" }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "weir.checkNetwork" -}}
{{- with .Values.networkPolicy }}
{{- if and .enabled (not .gateways) }}
{{- fail "networkPolicy.gateways: is empty, so no Envoy would reach Weir; list the peers that ask for decisions" }}
{{- end }}
{{- if and .enabled (not .http) $.Values.workload.enabled (or $.Values.http.json $.Values.http.reservations $.Values.settings.CHECK_DOMAIN) }}
{{- fail (printf "networkPolicy.http: is empty, so nobody would reach port 8080, which %s serves; list who asks there" (ternary "http.json" (ternary "http.reservations" "settings.CHECK_DOMAIN" $.Values.http.reservations) $.Values.http.json)) }}
{{- end }}
{{- if and .enabled .egress.enabled }}{{ $_ := include "weir.redisPorts" $ }}{{ end }}
{{- end }}
{{- with .Values.monitoring }}
{{- $known := regexFindAll "- alert: [A-Za-z]+" ($.Files.Get "files/alerts.yaml") -1 }}
{{- range .rules.disabled }}
{{- if not (has (printf "- alert: %s" .) $known) }}
{{- fail (printf "monitoring.rules.disabled: there is no alert %s; use one of %s" . (join ", " $known | replace "- alert: " "")) }}
{{- end }}
{{- end }}
{{- if and .podMonitor.enabled .serviceMonitor.enabled }}
{{- fail "monitoring.serviceMonitor.enabled: monitoring.podMonitor.enabled is true, too, so Prometheus would count everything twice; disable one of them" }}
{{- end }}
{{- if and .serviceMonitor.enabled (not (and $.Values.workload.enabled (include "weir.servesPort" (dict "context" $ "port" "debug")))) }}
{{- fail "monitoring.serviceMonitor.enabled: the Service has no port for it; set service.ports.debug, or use monitoring.podMonitor" }}
{{- end }}
{{- end }}
{{- end -}}
