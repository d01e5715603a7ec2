{{/* The name of a shard's objects. Argument: a list of context and shard. */}}
{{- define "innodb-advisor.fleetName" -}}
{{- $context := index . 0 -}}
{{- $suffix := ternary "-fleet" (printf "-fleet-%d" (index . 1)) (eq (int $context.Values.fleet.shards) 1) -}}
{{- /* A CronJob's name may have 52 characters. */ -}}
{{- printf "%s%s" (include "innodb-advisor.fullname" $context | trunc (int (sub 52 (len $suffix))) | trimSuffix "-") $suffix -}}
{{- end -}}

{{/* The labels that select a shard's pod. Argument: a list of context and shard. */}}
{{- define "innodb-advisor.fleetSelector" -}}
{{ include "innodb-advisor.selectorLabels" (index . 0) }}
app.kubernetes.io/component: fleet
innodb-advisor/shard: {{ index . 1 | quote }}
{{- end -}}

{{/* Name, namespace and labels of a shard's object. Argument: a list of context and shard. */}}
{{- define "innodb-advisor.fleetMetadata" -}}
name: {{ include "innodb-advisor.fleetName" . | quote }}
namespace: {{ (index . 0).Release.Namespace | quote }}
labels:
  {{- include "innodb-advisor.labels" (index . 0) | nindent 2 }}
  app.kubernetes.io/component: fleet
  innodb-advisor/shard: {{ index . 1 | quote }}
{{- end -}}

{{/* The command line, without secrets. Argument: a list of context and shard. */}}
{{- define "innodb-advisor.fleetArgs" -}}
{{- $context := index . 0 -}}
{{- $values := $context.Values -}}
{{- $fleet := $values.fleet -}}
{{- $serves := eq $fleet.kind "Deployment" -}}
{{- $args := list "fleet" "--prometheus" $fleet.prometheus.url "--window" $fleet.window "--model-seconds" (toString $fleet.modelSeconds) -}}
{{- if or $fleet.prometheus.config $fleet.prometheus.existingSecret -}}
{{- $args = concat $args (list "--prometheus-config" "/etc/innodb-advisor/prometheus/prometheus.yml") -}}
{{- end -}}
{{- if $fleet.prometheus.headersSecret -}}
{{- $args = concat $args (list "--header" "@/etc/innodb-advisor/headers/headers") -}}
{{- end -}}
{{- with $fleet.selector -}}
{{- $args = concat $args (list "--selector" .) -}}
{{- end -}}
{{- with $fleet.identity -}}
{{- $args = concat $args (list "--identity" (join "," .)) -}}
{{- end -}}
{{- range $fleet.services -}}
{{- $args = concat $args (list "--service" .) -}}
{{- end -}}
{{- if gt (int $fleet.shards) 1 -}}
{{- $args = concat $args (list "--shard" (printf "%d/%d" (index . 1) (int $fleet.shards))) -}}
{{- end -}}
{{- with $values.mayRead -}}
{{- $args = concat $args (list "--may-read" .) -}}
{{- end -}}
{{- if $values.config -}}
{{- $args = concat $args (list "--config" "/etc/innodb-advisor/config/innodb-advisor.yaml") -}}
{{- end -}}
{{- if or $values.rules $values.existingRulesConfigMap -}}
{{- $args = concat $args (list "--rules" "/etc/innodb-advisor/rules") -}}
{{- end -}}
{{- if $serves -}}
{{- $args = concat $args (list "--listen" ":9748" "--every" $fleet.every) -}}
{{- if or $values.webConfig.existingSecret $values.webConfig.content -}}
{{- $args = concat $args (list "--web-config" "/etc/innodb-advisor/web/web.yml") -}}
{{- end -}}
{{- range $values.alertmanager.urls -}}
{{- $args = concat $args (list "--alertmanager" .) -}}
{{- end -}}
{{- if or $values.alertmanager.config $values.alertmanager.existingSecret -}}
{{- $args = concat $args (list "--alertmanager-config" "/etc/innodb-advisor/alertmanager/alertmanager.yml") -}}
{{- end -}}
{{- with $values.externalUrl -}}
{{- $args = concat $args (list "--external-url" .) -}}
{{- end -}}
{{- else -}}
{{- $args = concat $args (list "--output" $fleet.report.format) -}}
{{- if $fleet.report.existingClaim -}}
{{- $suffix := ternary "" (printf "-%d" (index . 1)) (eq (int $fleet.shards) 1) -}}
{{- $kind := get (dict "text" "txt" "markdown" "md") $fleet.report.format | default $fleet.report.format -}}
{{- $args = concat $args (list "--to" (printf "/var/lib/innodb-advisor/reports/fleet%s.%s" $suffix $kind)) -}}
{{- end -}}
{{- end -}}
{{- range concat $args $values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The template of a shard's pod. Argument: a list of context and shard. */}}
{{- define "innodb-advisor.fleetPod" -}}
{{- $shard := . -}}
{{- $serves := eq (index . 0).Values.fleet.kind "Deployment" -}}
{{- with index . 0 -}}
metadata:
  labels:
    {{- $own := merge (include "innodb-advisor.fleetSelector" $shard | fromYaml) (include "innodb-advisor.labels" . | fromYaml) }}
    {{- range $key, $value := merge $own .Values.podLabels }}
    {{ $key }}: {{ $value | quote }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if not $serves }}
  restartPolicy: Never
  {{- end }}
  {{- include "innodb-advisor.pod" . | nindent 2 }}
  containers:
    - name: innodb-advisor
      image: {{ include "innodb-advisor.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
      args:
        {{- include "innodb-advisor.fleetArgs" $shard | trim | nindent 8 }}
      env:
        - name: SHARD
          value: {{ index $shard 1 | quote }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if $serves }}
      ports:
        - name: metrics
          containerPort: 9748
          protocol: TCP
      {{- include "innodb-advisor.alive" . | nindent 6 }}
      readinessProbe:
        {{- include "innodb-advisor.ask" (list . "/readyz") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
      {{- end }}
      {{- with .Values.fleet.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with include "innodb-advisor.volumeMounts" . | trim }}
      volumeMounts:
        {{- . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml (mergeOverwrite (deepCopy .Values.securityContext) (include "innodb-advisor.restricted" . | fromYaml)) | nindent 8 }}
  {{- with include "innodb-advisor.volumes" . | trim }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with include "innodb-advisor.placement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}
