{{/* Rejects contradictory values. A schema could do so only with unhelpful messages. */}}
{{- define "innodb-advisor.check" -}}
{{- $values := .Values -}}
{{- /* The message must not show the DSN: it may hold the password. */ -}}
{{- $who := regexFind "^[a-z]+://[^@/?]*@" $values.dsn -}}
{{- if regexMatch "^[a-z]+://[^:]*:" $who -}}
{{- fail "dsn holds a password, which everyone who may read the Deployment could see: put it into existingSecret" -}}
{{- else if and $values.dsn (not (regexMatch "//[^@]+@" $who)) -}}
{{- fail "dsn names no user: mysql://user@host:3306" -}}
{{- end -}}
{{- if and $values.password $values.existingSecret -}}
{{- fail "password and existingSecret: give one of the two" -}}
{{- end -}}
{{- if and $values.rules $values.existingRulesConfigMap -}}
{{- fail "rules and existingRulesConfigMap: give one of the two" -}}
{{- end -}}
{{- if and $values.webConfig.content $values.webConfig.existingSecret -}}
{{- fail "webConfig.content and webConfig.existingSecret: give one of the two" -}}
{{- end -}}
{{- if and $values.webConfig.tlsSecret (not (or $values.webConfig.content $values.webConfig.existingSecret)) -}}
{{- fail "webConfig.tlsSecret is used by a web configuration: give webConfig.content, with tls_server_config: {cert_file: tls.crt, key_file: tls.key}" -}}
{{- end -}}
{{- if and $values.alertmanager.config $values.alertmanager.existingSecret -}}
{{- fail "alertmanager.config and alertmanager.existingSecret: give one of the two" -}}
{{- end -}}
{{- if and (or $values.alertmanager.config $values.alertmanager.existingSecret) (not $values.alertmanager.urls) -}}
{{- fail "alertmanager.config is for alertmanager.urls, and there are none" -}}
{{- end -}}
{{- if and $values.podMonitor.enabled $values.serviceMonitor.enabled -}}
{{- fail "podMonitor and serviceMonitor: enable one of the two, or everything is scraped twice" -}}
{{- end -}}
{{- if and $values.state.existingClaim (not $values.state.enabled) -}}
{{- fail "state.existingClaim is used with state.enabled" -}}
{{- end -}}
{{- $fleet := $values.fleet -}}
{{- if $fleet.enabled -}}
{{- if $values.deployment.enabled -}}
{{- fail "fleet.enabled is for a release of its own: set deployment.enabled to false" -}}
{{- end -}}
{{- if not $fleet.prometheus.url -}}
{{- fail "fleet.prometheus.url is required: such as http://prometheus.monitoring:9090" -}}
{{- end -}}
{{- if regexMatch "/api/v1(/|$)" $fleet.prometheus.url -}}
{{- fail "fleet.prometheus.url: leave out /api/v1, which is added" -}}
{{- end -}}
{{- if and $fleet.prometheus.config $fleet.prometheus.existingSecret -}}
{{- fail "fleet.prometheus.config and fleet.prometheus.existingSecret: give one of the two" -}}
{{- end -}}
{{- if or $values.dsn $values.password $values.existingSecret $values.state.enabled -}}
{{- fail "dsn, password, existingSecret and state are of a sidecar: the fleet connects to no server" -}}
{{- end -}}
{{- if $values.podMonitor.enabled -}}
{{- fail "podMonitor is for sidecars: the fleet has serviceMonitor" -}}
{{- end -}}
{{- if eq $fleet.kind "CronJob" -}}
{{- if or $values.alertmanager.urls $values.webConfig.content $values.webConfig.existingSecret $values.serviceMonitor.enabled -}}
{{- fail "alertmanager, webConfig and serviceMonitor need fleet.kind: Deployment; a CronJob serves nothing" -}}
{{- end -}}
{{- else if $fleet.report.existingClaim -}}
{{- fail "fleet.report.existingClaim is the CronJob's: fleet.kind: CronJob" -}}
{{- end -}}
{{- else if not $values.deployment.enabled -}}
{{- if $values.state.existingClaim -}}
{{- fail "state.existingClaim is for the Deployment: sidecars of several pods would share it" -}}
{{- end -}}
{{- if $values.serviceMonitor.enabled -}}
{{- fail "serviceMonitor needs the Service of the Deployment: use podMonitor for sidecars" -}}
{{- end -}}
{{- if $values.networkPolicy.enabled -}}
{{- fail "networkPolicy is the Deployment's: a sidecar's pods are under the policies of their server" -}}
{{- end -}}
{{- if and $values.podMonitor.enabled (not $values.podMonitor.selector) -}}
{{- fail "podMonitor.selector is required where deployment.enabled is false: the labels of the pods that hold the sidecar" -}}
{{- end -}}
{{- else if $values.podMonitor.selector -}}
{{- fail "podMonitor.selector is for sidecars, where deployment.enabled is false: the Deployment's pod is selected by its own labels" -}}
{{- end -}}
{{- end -}}
