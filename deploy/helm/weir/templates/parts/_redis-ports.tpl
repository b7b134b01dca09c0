{{/* The ports of the Redis servers that addresses name, for network policies. */}}

{{/* The ports of the servers that an address names, as JSON: {name, type, url}. */}}
{{- define "weir.addressPorts" -}}
{{- $servers := splitList "," .url -}}
{{- if eq .type "sentinel" }}{{ $servers = rest $servers }}{{ end -}}
{{- $ports := list -}}
{{- range $server := $servers -}}
{{- $server = trim $server -}}
{{- $isUrl := and (eq $.type "single") (regexMatch "^(?i)rediss?://." $server) -}}
{{- if $isUrl }}{{ $server = regexReplaceAll "[/?#].*$" (regexReplaceAll "^(?i)rediss?://" $server "") "" }}{{ end -}}
{{- $port := regexFind ":[0-9]{1,5}$" (regexReplaceAll "^\\[[^\\]]*\\]" $server "") -}}
{{- if and (not $port) (not $isUrl) -}}
{{- fail (printf "%s: has %q, which has no port; write it as host:6379" $.name $server) -}}
{{- end -}}
{{- $ports = append $ports (trimPrefix ":" $port | default "6379" | int) -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/* Where Weir connects to count, as JSON: ports of every Redis, never none, which would mean all. */}}
{{- define "weir.redisPorts" -}}
{{- $ports := .Values.networkPolicy.egress.redisPorts -}}
{{- $url := include "weir.redisUrl" . -}}
{{- if not $ports -}}
{{- if or (not $url) (and .Values.redis.perSecond.enabled (not .Values.redis.perSecond.url)) -}}
{{- fail "networkPolicy.egress.redisPorts: is empty, and no value has the address of Redis; list the ports of your Redis" -}}
{{- end -}}
{{- $ports = include "weir.addressPorts" (dict "name" "redis.url" "type" .Values.redis.type "url" $url) | fromJsonArray -}}
{{- with .Values.redis.perSecond -}}
{{- if .enabled }}{{ $ports = concat $ports (include "weir.addressPorts" (dict "name" "redis.perSecond.url" "type" .type "url" .url) | fromJsonArray) }}{{ end -}}
{{- if or (eq $.Values.redis.type "sentinel") (and .enabled (eq .type "sentinel")) }}{{ $ports = append $ports 6379 }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson (uniq $ports) -}}
{{- end -}}
