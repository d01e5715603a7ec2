{{- define "innodb-advisor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
The full name of all objects: the release's name, followed by the chart's unless the release's contains it. A Service's
name must begin with a letter and have no dots; a release's name need not.
*/}}
{{- define "innodb-advisor.fullname" -}}
{{- $name := include "innodb-advisor.name" . -}}
{{- $full := printf "%s-%s" .Release.Name $name -}}
{{- if .Values.fullnameOverride -}}
{{- $full = .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- $full = .Release.Name -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]" $full) -}}
{{- $full = printf "%s-%s" $name .Release.Name -}}
{{- end -}}
{{- $full | replace "." "-" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels that select the pod. Quoted, because a release may be named y. */}}
{{- define "innodb-advisor.selectorLabels" -}}
app.kubernetes.io/name: {{ include "innodb-advisor.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Labels of the `helm test` pod. Neither the Service nor the NetworkPolicy may select it. */}}
{{- define "innodb-advisor.testLabels" -}}
app.kubernetes.io/name: {{ printf "%s-test" (include "innodb-advisor.name" . | trunc 58 | trimSuffix "-") | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "innodb-advisor.labels" -}}
{{ include "innodb-advisor.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{- define "innodb-advisor.metadata" -}}
name: {{ include "innodb-advisor.fullname" . | quote }}
namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{- define "innodb-advisor.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "innodb-advisor.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "innodb-advisor.fullname" .) "" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* The DSN, with the paths of the mounted TLS files. A sidecar's default is the server in its own pod. */}}
{{- define "innodb-advisor.dsn" -}}
{{- $dsn := .Values.dsn -}}
{{- if and (not $dsn) (not .Values.deployment.enabled) -}}
{{- $dsn = "mysql://innodb_advisor@127.0.0.1:3306" -}}
{{- end -}}
{{- $dsn = required "dsn is required: the server to watch, such as --set dsn=mysql://user@host:3306" $dsn -}}
{{- $tls := list -}}
{{- with .Values.serverTLS -}}
{{- if .mode -}}{{- $tls = append $tls (printf "ssl-mode=%s" .mode) -}}{{- end -}}
{{- if or .caConfigMap .secret -}}{{- $tls = append $tls "ssl-ca=/etc/innodb-advisor/server-tls/ca.crt" -}}{{- end -}}
{{- if .secret -}}
{{- $tls = concat $tls (list "ssl-cert=/etc/innodb-advisor/server-tls/tls.crt" "ssl-key=/etc/innodb-advisor/server-tls/tls.key") -}}
{{- end -}}
{{- end -}}
{{- if $tls -}}
{{- $dsn = printf "%s%s%s" $dsn (ternary "&" "?" (contains "?" $dsn)) (join "&" $tls) -}}
{{- end -}}
{{- $dsn -}}
{{- end -}}

{{/* The server as host:port; the host may be an IPv6 address in brackets. */}}
{{- define "innodb-advisor.server" -}}
{{- $host := include "innodb-advisor.dsn" . | regexFind "//[^/?]*" | regexFind "[^@/]*$" | lower -}}
{{- if not (regexMatch ":[0-9]+$" $host) -}}
{{- $host = printf "%s:3306" $host -}}
{{- end -}}
{{- $host -}}
{{- end -}}

{{/* http, https or tcp, depending on the web configuration. */}}
{{- define "innodb-advisor.probe" -}}
{{- $web := .Values.webConfig -}}
{{- $tls := dig "tls_server_config" (dict) $web.content -}}
{{- if $web.probe -}}
{{- $web.probe -}}
{{- else if or $web.existingSecret (dig "basic_auth_users" (dict) $web.content) (dig "client_auth_type" "" $tls | hasPrefix "Require") -}}
tcp
{{- else -}}
{{- ternary "https" "http" (not (empty $tls)) -}}
{{- end -}}
{{- end -}}

{{/* The scheme of a monitor. Argument: a list of context and monitor. */}}
{{- define "innodb-advisor.scheme" -}}
{{- $context := index . 0 -}}
{{- $monitor := index . 1 -}}
{{- $web := $context.Values.webConfig -}}
{{- if $monitor.scheme -}}
{{- $monitor.scheme -}}
{{- else if eq $web.probe "https" -}}
https
{{- else -}}
{{- ternary "https" "http" (not (empty (dig "tls_server_config" (dict) $web.content))) -}}
{{- end -}}
{{- end -}}

{{/* The ports of URLs, for a NetworkPolicy. Argument: a list of URLs. */}}
{{- define "innodb-advisor.ports" -}}
{{- $ports := list }}
{{- range . }}
{{- $url := urlParse . }}
{{- $named := regexFind ":[0-9]+$" $url.host | trimPrefix ":" }}
{{- $ports = append $ports (int ($named | default (ternary "443" "80" (eq $url.scheme "https")))) }}
{{- end }}
{{- range uniq $ports }}
- {port: {{ . }}, protocol: TCP}
{{- end }}
{{- end -}}
