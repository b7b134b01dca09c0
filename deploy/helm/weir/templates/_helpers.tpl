{{/* Names, labels and the image. */}}

{{- define "weir.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "weir" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-weir" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What every object has: {name, context, component}. */}}
{{- define "weir.metadata" -}}
name: {{ .name }}
{{- with .context.Values.namespaceOverride }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "weir.selectorOf" (dict "context" .context "component" .component) | nindent 2 }}
  app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .context.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version }}
  {{- with .context.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The labels of a part's pods, the same for life: {context, component}. Weir itself has no component. */}}
{{- define "weir.selectorOf" -}}
{{- if .component -}}
app.kubernetes.io/name: {{ printf "%s-%s" .context.Chart.Name .component }}
{{- else -}}
app.kubernetes.io/name: {{ .context.Chart.Name }}
{{- end }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
{{- end -}}

{{/* The pods that decide: those of the chart, or those that another program starts. */}}
{{- define "weir.selector" -}}
{{- if .Values.workload.enabled -}}
{{- include "weir.selectorOf" (dict "context" .) -}}
{{- else -}}
{{- toYaml .Values.workload.selectorLabels -}}
{{- end -}}
{{- end -}}

{{- define "weir.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "weir.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "weir.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "weir.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "weir.configMap" -}}
{{- .Values.config.existingConfigMap | default (printf "%s-config" (include "weir.fullname" .)) -}}
{{- end -}}

{{/* The files of the ConfigMap that the chart makes, as YAML. Empty: it makes none. */}}
{{- define "weir.files" -}}
{{- if and .Values.workload.enabled (eq .Values.config.source "files") (not .Values.config.existingConfigMap) -}}
{{- if .Values.config.example -}}
payments.yaml: |
  {{- .Files.Get "files/payments.yaml" | nindent 2 }}
{{- else -}}
{{- toYaml .Values.config.files -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The domain that `helm test` asks about. Empty: unknown, so there is no test. */}}
{{- define "weir.testDomain" -}}
{{- if .Values.test.domain -}}
{{- .Values.test.domain -}}
{{- else -}}
{{- $files := include "weir.files" . | fromYaml -}}
{{- with keys $files | sortAlpha | first -}}
{{- $limits := get $files . | fromYaml -}}
{{- if not (hasKey $limits "Error") -}}{{- $limits.domain -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Containers that fit the pod security profile `restricted`. */}}
{{- define "weir.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
