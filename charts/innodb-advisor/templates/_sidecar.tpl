{{/*
The sidecar for the pod of a server: a container, native or plain as sidecar.native says. In a chart that has this one
as a dependency, with deployment.enabled false:

  initContainers:                  # native; plain: containers
    - {{- include "innodb-advisor.sidecar" (index .Subcharts "innodb-advisor") | nindent 6 }}
  volumes:
    {{- include "innodb-advisor.volumes" (index .Subcharts "innodb-advisor") | nindent 4 }}

It has no readiness probe: if only the sidecar cannot log in, the pod's Service must not stop sending clients to the
server. The container sets everything that level restricted requires, because the chart does not own the pod.
*/}}
{{- define "innodb-advisor.sidecar" -}}
{{- $sidecar := .Values.sidecar -}}
{{- if and $sidecar.native (semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "sidecar.native needs Kubernetes 1.29, and this is %s: set it to false and put the sidecar under containers" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
name: {{ $sidecar.name | quote }}
{{- if $sidecar.native }}
restartPolicy: Always
{{- end }}
{{ include "innodb-advisor.container" . }}
ports:
  - name: {{ $sidecar.portName | quote }}
    containerPort: 9747
    protocol: TCP
securityContext:
  runAsNonRoot: true
  {{- if not (kindIs "invalid" $sidecar.runAsUser) }}
  runAsUser: {{ $sidecar.runAsUser | int64 }}
  {{- end }}
  {{- if not (kindIs "invalid" $sidecar.runAsGroup) }}
  runAsGroup: {{ $sidecar.runAsGroup | int64 }}
  {{- end }}
  {{- include "innodb-advisor.restricted" . | nindent 2 }}
  seccompProfile:
    type: RuntimeDefault
{{- end -}}
