{{/* The volumes of Weir's pods, and their mounts. The check before an install or upgrade has the same, but waits for none of them. */}}

{{/* The folders with limits: volume, folder and object of each. */}}
{{- define "weir.configFolders" -}}
{{- $root := "/data/ratelimit/config" }}
{{- $folders := list }}
{{- with .Values.config }}
{{- if eq .source "files" }}
{{- $isAlone := not .configMaps }}
{{- if .volume }}
{{- $folders = append $folders (dict "name" "config" "path" $root) }}
{{- else if or .existingConfigMap (include "weir.files" $) }}
{{- $folders = append $folders (dict "name" "config" "path" (ternary $root (printf "%s/%s" $root (include "weir.configMap" $)) $isAlone) "configMap" (include "weir.configMap" $)) }}
{{- end }}
{{- range $place, $map := .configMaps }}
{{- $folders = append $folders (dict "name" (printf "config-%d" $place) "path" (printf "%s/%s" $root .name) "configMap" .name "optional" (.optional | default false)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $folders }}
{{- end -}}

{{/* The Secrets that are mounted below /etc/weir, by the names of their volumes. */}}
{{- define "weir.secretVolumes" -}}
{{- $secrets := dict }}
{{- with .Values.config.xds }}{{ if and (eq $.Values.config.source "xds") .tls.enabled .tls.existingSecret }}{{ $_ := set $secrets "xds-tls" .tls.existingSecret }}{{ end }}{{ end }}
{{- with .Values.redis }}
{{- if .auth.existingSecret }}{{ $_ := set $secrets "redis-auth" .auth.existingSecret }}{{ end }}
{{- if and (or .tls.enabled .perSecond.tls.enabled) .tls.existingSecret }}{{ $_ := set $secrets "redis-tls" .tls.existingSecret }}{{ end }}
{{- if and .perSecond.enabled .perSecond.auth.existingSecret }}{{ $_ := set $secrets "redis-persecond-auth" .perSecond.auth.existingSecret }}{{ end }}
{{- end }}
{{- if .Values.tls.enabled }}{{ $_ := set $secrets "grpc-tls" .Values.tls.existingSecret }}{{ end }}
{{- with .Values.admin }}
{{- if and .enabled .tokens.existingSecret }}{{ $_ := set $secrets "admin-tokens" .tokens.existingSecret }}{{ end }}
{{- if and .enabled .jwt.existingSecret }}{{ $_ := set $secrets "admin-jwt" .jwt.existingSecret }}{{ end }}
{{- if and .enabled .tls.existingSecret }}{{ $_ := set $secrets "admin-tls" .tls.existingSecret }}{{ end }}
{{- end }}
{{- toYaml $secrets }}
{{- end -}}

{{/* The mounts of Weir. Empty: none. */}}
{{- define "weir.volumeMounts" -}}
{{- range include "weir.configFolders" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: {{ .path }}
  readOnly: true
{{- end }}
{{- range $name, $_ := include "weir.secretVolumes" . | fromYaml }}
- name: {{ $name }}
  mountPath: /etc/weir/{{ $name }}
  readOnly: true
{{- end }}
{{- if .Values.keepLocalShares }}
- name: local-shares
  mountPath: /var/lib/weir
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Their volumes: {context, isCheck}. For the check, every Secret and ConfigMap is optional: the release itself may make it. */}}
{{- define "weir.volumes" -}}
{{- $isCheck := .isCheck | default false }}
{{- with .context }}
{{- range include "weir.configFolders" . | fromYamlArray }}
- name: {{ .name }}
{{- if not .configMap }}
  {{- toYaml $.context.Values.config.volume | nindent 2 }}
{{- else }}
  configMap:
    name: {{ ternary (printf "%s-check" (include "weir.fullname" $.context)) .configMap (and $isCheck (eq .name "config") (include "weir.files" $.context | ne "")) }}
    {{- if or $isCheck .optional }}
    optional: true
    {{- end }}
{{- end }}
{{- end }}
{{- range $name, $secret := include "weir.secretVolumes" . | fromYaml }}
- name: {{ $name }}
  secret:
    secretName: {{ $secret }}
    {{- if $isCheck }}
    optional: true
    {{- end }}
{{- end }}
{{- if .Values.keepLocalShares }}
# In memory: keys hold data of clients, and a volume on the disk of a node would keep the cluster autoscaler from removing the node.
- name: local-shares
  emptyDir:
    medium: Memory
    sizeLimit: {{ mul 8 .Values.workers }}Mi
{{- end }}
{{- range .Values.extraVolumes }}
{{- $volume := deepCopy . }}
{{- range $kind := list "secret" "configMap" }}
{{- if and $isCheck (hasKey $volume $kind) }}{{ $_ := set (get $volume $kind) "optional" true }}{{ end }}
{{- end }}
- {{ toYaml $volume | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}
