{{/*
The container's command line. It never holds secrets; these are in files and environment variables.
*/}}
{{- define "innodb-advisor.args" -}}
{{- $values := .Values -}}
{{- $args := list "serve" "--listen" ":9747" "--interval" $values.interval -}}
{{- if or $values.existingSecret $values.password -}}
{{- $args = concat $args (list "--password-file" "/etc/innodb-advisor/password/password") -}}
{{- end -}}
{{- if $values.config -}}
{{- $args = concat $args (list "--config" "/etc/innodb-advisor/config/innodb-advisor.yaml") -}}
{{- end -}}
{{- if or $values.rules $values.existingRulesConfigMap -}}
{{- $args = concat $args (list "--rules" "/etc/innodb-advisor/rules") -}}
{{- end -}}
{{- if or $values.webConfig.existingSecret $values.webConfig.content -}}
{{- $args = concat $args (list "--web-config" "/etc/innodb-advisor/web/web.yml") -}}
{{- end -}}
{{- if $values.state.enabled -}}
{{- $args = concat $args (list "--state-dir" "/var/lib/innodb-advisor/state") -}}
{{- end -}}
{{- with $values.mayRead -}}
{{- $args = concat $args (list "--may-read" .) -}}
{{- end -}}
{{- if $values.collectLruPages -}}
{{- $args = append $args "--collect-lru-pages" -}}
{{- end -}}
{{- with $values.compat -}}
{{- $args = concat $args (list "--compat" .) -}}
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
{{- with $values.dashboardUrl -}}
{{- $args = concat $args (list "--dashboard-url" .) -}}
{{- end -}}
{{- with $values.instance -}}
{{- $args = concat $args (list "--instance" .) -}}
{{- end -}}
{{- range concat $args $values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "innodb-advisor.volumeMounts" -}}
{{- $values := .Values -}}
{{- if or $values.existingSecret $values.password }}
- {name: innodb-advisor-password, mountPath: /etc/innodb-advisor/password, readOnly: true}
{{- end }}
{{- if or $values.serverTLS.caConfigMap $values.serverTLS.secret }}
- {name: innodb-advisor-server-tls, mountPath: /etc/innodb-advisor/server-tls, readOnly: true}
{{- end }}
{{- if $values.config }}
- {name: innodb-advisor-config, mountPath: /etc/innodb-advisor/config, readOnly: true}
{{- end }}
{{- if or $values.rules $values.existingRulesConfigMap }}
- {name: innodb-advisor-rules, mountPath: /etc/innodb-advisor/rules, readOnly: true}
{{- end }}
{{- if or $values.webConfig.existingSecret $values.webConfig.content }}
- {name: innodb-advisor-web, mountPath: /etc/innodb-advisor/web, readOnly: true}
{{- end }}
{{- if or $values.alertmanager.config $values.alertmanager.existingSecret }}
- {name: innodb-advisor-alertmanager, mountPath: /etc/innodb-advisor/alertmanager, readOnly: true}
{{- end }}
{{- if $values.state.enabled }}
- {name: innodb-advisor-state, mountPath: /var/lib/innodb-advisor}
{{- end }}
{{- if $values.fleet.enabled }}
{{- if or $values.fleet.prometheus.config $values.fleet.prometheus.existingSecret }}
- {name: innodb-advisor-prometheus, mountPath: /etc/innodb-advisor/prometheus, readOnly: true}
{{- end }}
{{- if $values.fleet.prometheus.headersSecret }}
- {name: innodb-advisor-headers, mountPath: /etc/innodb-advisor/headers, readOnly: true}
{{- end }}
{{- if $values.fleet.report.existingClaim }}
- {name: innodb-advisor-reports, mountPath: /var/lib/innodb-advisor/reports}
{{- end }}
{{- end }}
{{- with $values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
The volumes of the pod, with unique names. They mount whole folders: a single file (subPath) would not follow changes of
its Secret or ConfigMap.
*/}}
{{- define "innodb-advisor.volumes" -}}
{{- $values := .Values -}}
{{- $name := include "innodb-advisor.fullname" . -}}
{{- if or $values.existingSecret $values.password }}
- name: innodb-advisor-password
  secret:
    secretName: {{ $values.existingSecret | default (printf "%s-password" $name) | quote }}
    items:
      - key: {{ ternary $values.existingSecretKey "password" (not (empty $values.existingSecret)) | quote }}
        path: password
{{- end }}
{{- with $values.serverTLS }}
{{- if or .caConfigMap .secret }}
- name: innodb-advisor-server-tls
  projected:
    sources:
      {{- with .secret }}
      - secret:
          name: {{ . | quote }}
      {{- end }}
      {{- with .caConfigMap }}
      - configMap:
          name: {{ . | quote }}
          items: [{key: ca.crt, path: ca.crt}]
      {{- end }}
{{- end }}
{{- end }}
{{- if $values.config }}
- name: innodb-advisor-config
  configMap:
    name: {{ printf "%s-config" $name | quote }}
{{- end }}
{{- if or $values.rules $values.existingRulesConfigMap }}
- name: innodb-advisor-rules
  configMap:
    name: {{ $values.existingRulesConfigMap | default (printf "%s-rules" $name) | quote }}
{{- end }}
{{- if or $values.webConfig.existingSecret $values.webConfig.content }}
- name: innodb-advisor-web
  projected:
    sources:
      - secret:
          name: {{ $values.webConfig.existingSecret | default (printf "%s-web" $name) | quote }}
      {{- with $values.webConfig.tlsSecret }}
      - secret:
          name: {{ . | quote }}
      {{- end }}
{{- end }}
{{- if or $values.alertmanager.config $values.alertmanager.existingSecret }}
- name: innodb-advisor-alertmanager
  secret:
    secretName: {{ $values.alertmanager.existingSecret | default (printf "%s-alertmanager" $name) | quote }}
{{- end }}
{{- if $values.state.enabled }}
- name: innodb-advisor-state
  {{- if $values.state.existingClaim }}
  persistentVolumeClaim:
    claimName: {{ $values.state.existingClaim | quote }}
  {{- else }}
  emptyDir:
    sizeLimit: {{ $values.state.sizeLimit | quote }}
  {{- end }}
{{- end }}
{{- if $values.fleet.enabled }}
{{- if or $values.fleet.prometheus.config $values.fleet.prometheus.existingSecret }}
- name: innodb-advisor-prometheus
  secret:
    secretName: {{ $values.fleet.prometheus.existingSecret | default (printf "%s-prometheus" $name) | quote }}
{{- end }}
{{- with $values.fleet.prometheus.headersSecret }}
- name: innodb-advisor-headers
  secret:
    secretName: {{ . | quote }}
    items: [{key: headers, path: headers}]
{{- end }}
{{- with $values.fleet.report.existingClaim }}
- name: innodb-advisor-reports
  persistentVolumeClaim:
    claimName: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A probe. Argument: a list of context and path. */}}
{{- define "innodb-advisor.ask" -}}
{{- $context := index . 0 -}}
{{- $how := include "innodb-advisor.probe" $context -}}
{{- $port := ternary 9748 9747 $context.Values.fleet.enabled -}}
{{- if eq $how "tcp" -}}
tcpSocket:
  port: {{ $port }}
{{- else -}}
httpGet:
  path: {{ index . 1 | quote }}
  port: {{ $port }}
  scheme: {{ upper $how }}
{{- end -}}
{{- end -}}

{{/* The common part of the Deployment's container and of a sidecar. */}}
{{- define "innodb-advisor.container" -}}
{{- $values := .Values -}}
image: {{ include "innodb-advisor.image" . | quote }}
imagePullPolicy: {{ $values.image.pullPolicy | quote }}
args:
  {{- include "innodb-advisor.args" . | trim | nindent 2 }}
env:
  - name: INNODB_ADVISOR_DSN
    value: {{ include "innodb-advisor.dsn" . | quote }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{ include "innodb-advisor.alive" . }}
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "innodb-advisor.volumeMounts" . | trim }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The container settings that PodSecurity level restricted requires. They override all values. */}}
{{- define "innodb-advisor.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* What the specification of every pod begins with. */}}
{{- define "innodb-advisor.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with include "innodb-advisor.serviceAccountName" . }}
serviceAccountName: {{ . | quote }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- $own := deepCopy .Values.podSecurityContext }}
  {{- $own = merge $own (dict "seccompProfile" (dict "type" "RuntimeDefault")) }}
  {{- toYaml (mergeOverwrite $own (dict "runAsNonRoot" true)) | nindent 2 }}
{{- end -}}

{{/* Where the scheduler may place a pod. */}}
{{- define "innodb-advisor.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The probes of a container that serves. */}}
{{- define "innodb-advisor.alive" -}}
startupProbe:
  {{- include "innodb-advisor.ask" (list . "/healthz") | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 30
livenessProbe:
  {{- include "innodb-advisor.ask" (list . "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}
