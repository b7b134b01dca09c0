{{/* Values of settings that Weir would refuse: each message says what it accepts. */}}

{{/* A duration such as 1m30s or 0.5s in milliseconds. */}}
{{- define "weir.milliseconds" -}}
{{- $units := dict "ns" 0.000001 "us" 0.001 "µs" 0.001 "μs" 0.001 "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $total := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ns|us|µs|μs|ms|s|m|h)" (toString .) -1 -}}
{{- $unit := regexFind "[^0-9.]+" . -}}
{{- $total = addf $total (mulf (trimSuffix $unit . | float64) (get $units $unit | float64)) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{/* Ranges and names, which Weir would refuse in the pods: files/checks.json has them from the table of settings. */}}
{{- define "weir.checkSettings" -}}
{{- $forms := (.Files.Get "files/checks.json" | fromJson).settings }}
{{- range $name, $value := .Values.settings }}
{{- $form := get $forms $name }}
{{- $text := include "weir.text" $value }}
{{- if and $form (ne $text "") }}
{{- $isGood := true }}
{{- if eq $form.kind "name" }}
{{- $isGood = false }}
{{- range $form.names }}{{ if eq (lower .) (lower $text) }}{{ $isGood = true }}{{ end }}{{ end }}
{{- else if eq $form.kind "duration" }}
{{- $isGood = or (eq $text "0") (regexMatch "^(([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$" $text) }}
{{- $ms := include "weir.milliseconds" $text | float64 }}
{{- if or (lt $ms (float64 $form.minMs)) (gt $ms (float64 $form.maxMs)) }}{{ $isGood = false }}{{ end }}
{{- else if has $form.kind (list "integer" "number") }}
{{- if or (lt (float64 $text) (float64 $form.min)) (gt (float64 $text) (float64 $form.max)) }}{{ $isGood = false }}{{ end }}
{{- end }}
{{- if not $isGood }}
{{- $hint := ternary " (in quotes: YAML reads on, off, yes and no as true and false)" "" (kindIs "bool" $value) }}
{{- fail (printf "settings.%s: is %s; use %s%s" $name $text $form.accepts $hint) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
