{{/* An endpoint of PodMonitor or ServiceMonitor. Argument: a list of context and values. */}}
{{- define "innodb-advisor.endpoint" -}}
{{- $context := index . 0 -}}
{{- $monitor := index . 1 -}}
path: /metrics
scheme: {{ include "innodb-advisor.scheme" . | quote }}
{{- with $monitor.interval }}
interval: {{ . | quote }}
{{- end }}
{{- with $monitor.scrapeTimeout }}
scrapeTimeout: {{ . | quote }}
{{- end }}
{{- with $monitor.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitor.basicAuth }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  {{- include "innodb-advisor.instance" $context | nindent 2 }}
  {{- with $monitor.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
The server's name as label instance, because the sidecar's own address changes. The same as with --instance: the
server's address, or the pod's name if the server is in the same pod. Of a fleet, the name of the shard's Service.
*/}}
{{- define "innodb-advisor.instance" -}}
{{- if .Values.fleet.enabled -}}
- targetLabel: instance
  sourceLabels: [__meta_kubernetes_service_name]
{{- else -}}
{{- $server := include "innodb-advisor.server" . -}}
- targetLabel: instance
{{- if .Values.instance }}
  replacement: {{ .Values.instance | quote }}
{{- else if or (contains "socket=" .Values.dsn) (regexMatch "^((.*\\.)?localhost|127\\.[0-9.]+|\\[::1\\]|):" $server) }}
  sourceLabels: [__meta_kubernetes_pod_name]
  replacement: {{ printf "$1:%s" (regexFind "[0-9]+$" $server) | quote }}
{{- else }}
  replacement: {{ $server | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A monitor's labels. Argument: a list of context and values. */}}
{{- define "innodb-advisor.monitorLabels" -}}
{{- range $key, $value := merge (include "innodb-advisor.labels" (index . 0) | fromYaml) (index . 1).labels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end -}}
