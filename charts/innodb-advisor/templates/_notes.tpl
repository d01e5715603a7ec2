{{/* The text of NOTES.txt. A separate template, so that a parent chart can include it. */}}
{{- define "innodb-advisor.notes" -}}
{{- if .Values.fleet.enabled }}{{ include "innodb-advisor.fleetNotes" . }}{{ else }}{{ include "innodb-advisor.serverNotes" . }}{{ end }}
{{- end -}}

{{- define "innodb-advisor.fleetNotes" -}}
{{- $here := printf "kubectl --namespace %s" .Release.Namespace }}
{{- $name := include "innodb-advisor.fleetName" (list . 0) -}}
{{- $parts := ternary "" (printf ", in %d parts" (int .Values.fleet.shards)) (eq (int .Values.fleet.shards) 1) -}}
innodb-advisor advises the servers that {{ .Values.fleet.prometheus.url }} knows{{ $parts }}.
{{- if eq .Values.fleet.kind "Deployment" }}

The page, /advise and /metrics, after the first reading:

  {{ $here }} port-forward service/{{ $name }} 9748:{{ int .Values.fleet.service.port }}
  {{ include "innodb-advisor.scheme" (list . .Values.serviceMonitor) }}://127.0.0.1:9748/fleet

Until it is ready, /readyz and the log say why:

  {{ $here }} logs deployment/{{ $name }}
{{- if and .Values.alertmanager.urls (not .Values.externalUrl) }}

Links of alerts lead to the pod's name, which no browser finds: set externalUrl.
{{- end }}
{{- else }}

A first report, without waiting for {{ .Values.fleet.schedule }}:

  {{ $here }} create job --from=cronjob/{{ $name }} {{ $name }}-now
  {{ $here }} logs --follow job/{{ $name }}-now
{{- end }}
{{- end -}}

{{- define "innodb-advisor.serverNotes" -}}
{{- $dsn := include "innodb-advisor.dsn" . }}
{{- $user := regexFind "^[^@]+@" ($dsn | trimPrefix "mysql://" | trimPrefix "mariadb://") | trimSuffix "@" | default "innodb_advisor" }}
{{- $here := printf "kubectl --namespace %s" .Release.Namespace }}
{{- $name := include "innodb-advisor.fullname" . }}
{{- $host := ternary "%" "127.0.0.1" .Values.deployment.enabled }}
{{- if .Values.deployment.enabled -}}
innodb-advisor watches {{ $dsn }}.
{{- else -}}
No Deployment: the sidecars of your servers' pods watch {{ $dsn }}.
{{- end }}

Its account only reads. Create it as an administrator of the server. The pods' network, such as 10.0.0.0/255.0.0.0, is
stricter than %:

  CREATE USER '{{ $user }}'@'{{ $host }}' IDENTIFIED BY '…' WITH MAX_USER_CONNECTIONS 4;
  GRANT PROCESS ON *.* TO '{{ $user }}'@'{{ $host }}';
  GRANT SELECT ON performance_schema.* TO '{{ $user }}'@'{{ $host }}';
  GRANT SELECT ON mysql.innodb_index_stats TO '{{ $user }}'@'{{ $host }}';
{{- if not (or .Values.existingSecret .Values.password) }}

It logs in without a password. To give it one:

  {{ $here }} create secret generic NAME --from-file=password=FILE
  helm upgrade {{ .Release.Name }} CHART --namespace {{ .Release.Namespace }} --reuse-values --set existingSecret=NAME
{{- end }}
{{- if .Values.deployment.enabled }}

Its page, /metrics and /advise:

  {{ $here }} port-forward service/{{ $name }} 9747:{{ int .Values.service.port }}
  {{ ternary "https" "http" (eq (include "innodb-advisor.scheme" (list . .Values.serviceMonitor)) "https") }}://127.0.0.1:9747/

If it is not ready, the log gives the reason, and `check` names missing privileges:

  {{ $here }} logs deployment/{{ $name }}
  {{ $here }} exec deployment/{{ $name }} -- innodb-advisor check
  {{- if or .Values.existingSecret .Values.password }} --password-file /etc/innodb-advisor/password/password{{ end }}
  helm test {{ .Release.Name }} --namespace {{ .Release.Namespace }}
{{- if not (or .Values.podMonitor.enabled .Values.serviceMonitor.enabled .Values.podAnnotations) }}

Nothing scrapes it yet: enable podMonitor or serviceMonitor, or set podAnnotations.
{{- end }}
{{- end }}
{{- if and .Values.prometheusRule.enabled .Values.alertmanager.urls }}

The rules leave out the alert InnoDBAdvice, because the sidecar itself sends its findings to Alertmanager.
{{- end }}
{{- if and (not .Values.externalUrl) (or .Values.prometheusRule.enabled .Values.alertmanager.urls .Values.dashboards.enabled) }}

Links of alerts and dashboards lead to the pod's name, which no browser finds: set externalUrl.
{{- end }}
{{- end -}}
