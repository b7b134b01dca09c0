{{/* The environment of Weir. Each name is a setting of docs/settings.md. */}}

{{/* {name, value} as an entry of `env`; none without a value. */}}
{{- define "weir.variable" -}}
{{- $text := include "weir.text" .value }}
{{- if ne $text "" }}
- name: {{ .name }}
  value: {{ $text | quote }}
{{- end }}
{{- end -}}

{{/* Helm reads numbers of a file as floating ones, and would write a million as 1e+06. Null is no text. */}}
{{- define "weir.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq . (floor .) }}{{ int64 . }}{{ else }}{{ toJson . }}{{ end -}}
{{- else if not (kindIs "invalid" .) -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{- define "weir.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name | default .secret.existingSecret }}
      key: {{ .secret.key }}
{{- end -}}

{{/* Where the limits are, and further settings. */}}
{{- define "weir.configEnvironment" -}}
{{- if eq .Values.config.source "files" }}
# Together the folder /data/ratelimit/config, where the ConfigMap is mounted.
- name: RUNTIME_ROOT
  value: /data
- name: RUNTIME_SUBDIRECTORY
  value: ratelimit
- name: RUNTIME_APPDIRECTORY
  value: config
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- include "weir.variable" (dict "name" $name "value" $value) }}
{{- end }}
{{- end -}}

{{- define "weir.xdsEnvironment" -}}
{{- with .Values.config.xds }}
- name: CONFIG_TYPE
  value: GRPC_XDS_SOTW
- name: CONFIG_GRPC_XDS_SERVER_URL
  value: {{ .server | quote }}
- name: CONFIG_GRPC_XDS_NODE_ID
  value: {{ .nodeId | quote }}
{{- if .startWithoutConfig }}
# The server may have nothing to send for a long time: ready even so.
- name: FORCE_START_WITHOUT_INITIAL_CONFIG
  value: "true"
{{- end }}
{{- if .tls.enabled }}
- name: CONFIG_GRPC_XDS_SERVER_USE_TLS
  value: "true"
{{- if .tls.existingSecret }}
- name: CONFIG_GRPC_XDS_SERVER_TLS_CACERT
  value: /etc/weir/xds-tls/ca.crt
{{- end }}
{{- if .tls.clientCertificate }}
- name: CONFIG_GRPC_XDS_CLIENT_TLS_CERT
  value: /etc/weir/xds-tls/tls.crt
- name: CONFIG_GRPC_XDS_CLIENT_TLS_KEY
  value: /etc/weir/xds-tls/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* One Redis: {redis, prefix, folder}. `prefix` is that of its settings. */}}
{{- define "weir.redisServer" -}}
{{- if ne .redis.type "single" }}
- name: {{ .prefix }}_TYPE
  value: {{ .redis.type }}
{{- end }}
- name: {{ .prefix }}_SOCKET_TYPE
  value: tcp
{{- if .redis.urlSecret.name }}
{{ include "weir.secretVariable" (dict "name" (printf "%s_URL" .prefix) "secret" .redis.urlSecret) }}
{{- else }}
- name: {{ .prefix }}_URL
  value: {{ .url | quote }}
{{- end }}
{{- if .redis.auth.existingSecret }}
# Read for each new connection, so that the password can be rotated.
- name: {{ .prefix }}_AUTH_FILE
  value: {{ printf "%s/%s" .folder .redis.auth.key }}
{{- end }}
{{- if .redis.sentinelAuth.existingSecret }}
{{ include "weir.secretVariable" (dict "name" (printf "%s_SENTINEL_AUTH" .prefix) "secret" .redis.sentinelAuth) }}
{{- end }}
{{- if .redis.tls.enabled }}
- name: {{ .prefix }}_TLS
  value: "true"
{{- end }}
{{- end -}}

{{- define "weir.redisUrl" -}}
{{- if .Values.redis.demo.enabled -}}
{{- printf "%s-redis:6379" (include "weir.fullname" .) -}}
{{- else -}}
{{- .Values.redis.url | default "" -}}
{{- end -}}
{{- end -}}

{{- define "weir.redisEnvironment" -}}
- name: BACKEND_TYPE
  value: redis
{{- with .Values.redis }}
{{- include "weir.redisServer" (dict "redis" . "url" (include "weir.redisUrl" $) "prefix" "REDIS" "folder" "/etc/weir/redis-auth") }}
{{- if or .tls.enabled .perSecond.tls.enabled }}
{{- if .tls.existingSecret }}
- name: REDIS_TLS_CACERT
  value: /etc/weir/redis-tls/ca.crt
{{- end }}
{{- if .tls.clientCertificate }}
- name: REDIS_TLS_CLIENT_CERT
  value: /etc/weir/redis-tls/tls.crt
- name: REDIS_TLS_CLIENT_KEY
  value: /etc/weir/redis-tls/tls.key
{{- end }}
{{- if .tls.skipHostnameVerification }}
- name: REDIS_TLS_SKIP_HOSTNAME_VERIFICATION
  value: "true"
{{- end }}
{{- end }}
{{- if .perSecond.enabled }}
- name: REDIS_PERSECOND
  value: "true"
{{- include "weir.redisServer" (dict "redis" .perSecond "url" .perSecond.url "prefix" "REDIS_PERSECOND" "folder" "/etc/weir/redis-persecond-auth") }}
{{- end }}
{{- include "weir.variable" (dict "name" "CACHE_KEY_PREFIX" "value" .keyPrefix) }}
{{- end }}
{{- end -}}

{{- define "weir.adminEnvironment" -}}
{{- with .Values.admin }}
- name: ADMIN_PORT
  value: {{ .port | quote }}
- name: ADMIN_HOST
  value: 0.0.0.0
{{- if .tokens.existingSecret }}
- name: ADMIN_TOKENS_FILE
  value: /etc/weir/admin-tokens/{{ .tokens.key }}
{{- end }}
{{- if .jwt.existingSecret }}
- name: ADMIN_JWT_JWKS_FILE
  value: /etc/weir/admin-jwt/{{ .jwt.key }}
- name: ADMIN_JWT_ISSUER
  value: {{ .jwt.issuer | quote }}
- name: ADMIN_JWT_AUDIENCE
  value: {{ .jwt.audience | quote }}
- name: ADMIN_JWT_ROLE_CLAIM
  value: {{ .jwt.roleClaim | quote }}
{{- end }}
{{- if .tls.existingSecret }}
- name: ADMIN_TLS_CERT
  value: /etc/weir/admin-tls/tls.crt
- name: ADMIN_TLS_KEY
  value: /etc/weir/admin-tls/tls.key
{{- if .tls.verifyClients }}
- name: ADMIN_TLS_CLIENT_CACERT
  value: /etc/weir/admin-tls/ca.crt
{{- end }}
{{- end }}
{{- if not .console }}
- name: ADMIN_CONSOLE
  value: "false"
{{- end }}
{{- end }}
{{- end -}}

{{/* Most pods that share a limit: those of the autoscaler, also of one that the chart does not make, and at least one. */}}
{{- define "weir.instances" -}}
{{- if or .Values.autoscaling.enabled (kindIs "invalid" .Values.replicas) -}}
{{- .Values.autoscaling.maxReplicas | int -}}
{{- else -}}
{{- max 1 (int .Values.replicas) -}}
{{- end -}}
{{- end -}}

{{/* The same for the check, which waits for no Secret or ConfigMap: the release itself may make it. */}}
{{- define "weir.checkEnvironment" -}}
{{- $variables := list }}
{{- range include "weir.environment" . | fromYamlArray }}
{{- $variable := . }}
{{- range $kind := list "secretKeyRef" "configMapKeyRef" }}
{{- with get ($variable.valueFrom | default dict) $kind }}{{ $_ := set . "optional" true }}{{ end }}
{{- end }}
{{- $variables = append $variables $variable }}
{{- end }}
{{- toYaml $variables }}
{{- end -}}

{{/* `envFrom`: {context, isCheck}. */}}
{{- define "weir.envFrom" -}}
{{- $isCheck := .isCheck | default false }}
{{- $sources := list }}
{{- range .context.Values.extraEnvFrom }}
{{- $source := deepCopy . }}
{{- range $kind := list "secretRef" "configMapRef" }}
{{- if and $isCheck (hasKey $source $kind) }}{{ $_ := set (get $source $kind) "optional" true }}{{ end }}
{{- end }}
{{- $sources = append $sources $source }}
{{- end }}
{{- with $sources }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Objects that may not exist before the install, as `KIND NAME=FOLDER` or `KIND NAME=$VARIABLE`: those that the check needs. */}}
{{- define "weir.checkNeeds" -}}
{{- $needs := list }}
{{- range $name, $secret := include "weir.secretVolumes" . | fromYaml }}
{{- $needs = append $needs (printf "Secret %s=/etc/weir/%s" $secret $name) }}
{{- end }}
{{- range include "weir.environment" . | fromYamlArray }}
{{- $variable := .name }}
{{- with (.valueFrom | default dict).secretKeyRef }}{{ if not .optional }}{{ $needs = append $needs (printf "Secret %s=$%s" .name $variable) }}{{ end }}{{ end }}
{{- with (.valueFrom | default dict).configMapKeyRef }}{{ if not .optional }}{{ $needs = append $needs (printf "ConfigMap %s=$%s" .name $variable) }}{{ end }}{{ end }}
{{- end }}
{{- toYaml $needs }}
{{- end -}}

{{/* Spans name the pod, unless a value names something else. */}}
{{- define "weir.instanceId" -}}
{{- $setting := "TRACING_SERVICE_INSTANCE_ID" }}
{{- $others := keys .Values.settings }}
{{- range .Values.extraEnv }}{{ $others = append $others .name }}{{ end }}
{{- if and (eq (toString .Values.settings.TRACING_ENABLED) "true") (not (has $setting $others)) }}
- name: {{ $setting }}
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- end -}}

{{- define "weir.environment" -}}
{{- include "weir.configEnvironment" . }}
{{- include "weir.instanceId" . }}
{{- if eq .Values.config.source "xds" }}
{{- include "weir.xdsEnvironment" . }}
{{- end }}
{{ include "weir.redisEnvironment" . }}
# As many as pods: until a pod has reached Redis once, it lets its share of each limit pass, as one of this many instances.
- name: FAILURE_MODE_INSTANCES
  value: {{ include "weir.instances" . | quote }}
{{- if ne .Values.failureMode "local" }}
- name: FAILURE_MODE
  value: {{ .Values.failureMode }}
{{- end }}
{{- if .Values.keepLocalShares }}
- name: FAILURE_MODE_FILE
  value: /var/lib/weir/local-shares
{{- end }}
{{- if .Values.controlData }}
- name: CONTROL_DATA
  value: "true"
{{- end }}
{{- if ne (int .Values.workers) 1 }}
- name: WORKERS
  value: {{ .Values.workers | quote }}
{{- end }}
- name: PORT
  value: "8080"
- name: GRPC_PORT
  value: "8081"
- name: DEBUG_PORT
  value: "6070"
# Envoy asks over gRPC; on port 8080 any pod of the cluster could take and refund hits without credentials (.github/SECURITY.md).
- name: JSON_ENABLED
  value: {{ .Values.http.json | quote }}
- name: JSON_REFUNDS_ENABLED
  value: {{ .Values.http.refunds | quote }}
- name: HTTP_RESERVATIONS_ENABLED
  value: {{ .Values.http.reservations | quote }}
# Time for every Envoy to hear that the pod is leaving, before it refuses connections: health checks and DNS.
- name: DRAIN_DELAY
  value: {{ .Values.drain.delay | quote }}
- name: DRAIN_TIMEOUT
  value: {{ .Values.drain.timeout | quote }}
{{- if .Values.tls.enabled }}
- name: GRPC_SERVER_USE_TLS
  value: "true"
- name: GRPC_SERVER_TLS_CERT
  value: /etc/weir/grpc-tls/tls.crt
- name: GRPC_SERVER_TLS_KEY
  value: /etc/weir/grpc-tls/tls.key
{{- if .Values.tls.clients.verify }}
- name: GRPC_CLIENT_TLS_CACERT
  value: /etc/weir/grpc-tls/ca.crt
{{- include "weir.variable" (dict "name" "GRPC_CLIENT_TLS_SAN" "value" .Values.tls.clients.san) }}
{{- end }}
{{- end }}
{{- if .Values.admin.enabled }}
{{- include "weir.adminEnvironment" . }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
