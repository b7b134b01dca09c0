{{/* Names, labels and images. */}}

{{- define "weir.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{- define "weir.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "weir" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-weir" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A text as the value of a label: Flux appends `+…` to the version of a chart. */}}
{{- define "weir.labelValue" -}}
{{- . | replace "+" "_" | trunc 63 | trimSuffix "-" | trimSuffix "_" | trimSuffix "." -}}
{{- end -}}

{{/* What every object has: {name, context, component, namespace, labels, annotations}. Maps are merged, so no key occurs twice. */}}
{{- define "weir.metadata" -}}
name: {{ .name }}
{{- with .namespace | default .context.Values.namespaceOverride }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "weir.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .context.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of an object: {context, component, labels}. */}}
{{- define "weir.labels" -}}
{{- $chart := .context.Chart }}
{{- $own := dict "app.kubernetes.io/version" (include "weir.labelValue" $chart.AppVersion) "helm.sh/chart" (include "weir.labelValue" (printf "%s-%s" $chart.Name $chart.Version)) }}
{{- $fixed := include "weir.selectorOf" . | fromYaml | merge (dict "app.kubernetes.io/managed-by" .context.Release.Service) }}
{{- merge (dict) $fixed (.labels | default dict) .context.Values.commonLabels $own | toYaml }}
{{- end -}}

{{/* Of a pod: {context, component, labels}. */}}
{{- define "weir.podLabels" -}}
{{- merge (dict) (include "weir.selectorOf" . | fromYaml) (.labels | default dict) .context.Values.commonLabels | toYaml }}
{{- end -}}

{{/* The labels of a part's pods, the same for life: {context, component}. Weir itself has no component. */}}
{{- define "weir.selectorOf" -}}
{{- if .component -}}
app.kubernetes.io/name: {{ printf "%s-%s" (include "weir.name" .context) .component }}
{{- else -}}
app.kubernetes.io/name: {{ include "weir.name" .context }}
{{- end }}
app.kubernetes.io/instance: {{ .context.Release.Name | quote }}
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
{{- $repository := include "weir.inRegistry" (dict "context" . "image" .Values.image.repository) -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The name of an image in global.imageRegistry, which replaces the registry that the name begins with: {context, image}. */}}
{{- define "weir.inRegistry" -}}
{{- $registry := (.context.Values.global | default dict).imageRegistry -}}
{{- if $registry -}}
{{- printf "%s/%s" (trimSuffix "/" $registry) (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" .image "") -}}
{{- else -}}
{{- .image -}}
{{- end -}}
{{- end -}}

{{/* Those of this chart and of charts around it. */}}
{{- define "weir.pullSecrets" -}}
{{- $secrets := .Values.imagePullSecrets | default list }}
{{- range (.Values.global | default dict).imagePullSecrets }}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) }}
{{- end }}
{{- with $secrets | uniq }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
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

{{/* Whether the Service has the port: {context, port}. Empty: no. */}}
{{- define "weir.servesPort" -}}
{{- $wanted := get .context.Values.service.ports .port -}}
{{- if eq (toString $wanted) "auto" }}{{ $wanted = eq .context.Values.service.type "ClusterIP" }}{{ end -}}
{{- if $wanted }}true{{ end -}}
{{- end -}}

{{/* How pods find their addresses, for each Service of Weir. */}}
{{- define "weir.ipFamilies" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end }}
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
{{- else if .Values.config.files -}}
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

{{/* Where the pods of the check, the test and the demo Redis run: as those of Weir. */}}
{{- define "weir.placement" -}}
{{- include "weir.pullSecrets" . }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A probe with a handler of its own, or with that of the chart: {probe, handler}. */}}
{{- define "weir.probe" -}}
{{- $own := pick .probe "httpGet" "tcpSocket" "grpc" "exec" -}}
{{- if $own -}}
{{- toYaml .probe -}}
{{- else -}}
{{- toYaml .handler }}
{{ toYaml .probe -}}
{{- end -}}
{{- end -}}
