{{/* Names, and what every pod of the application has in common. */}}

{{- define "occurrent.labels" -}}
app.kubernetes.io/name: occurrent
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Call with (dict "root" $ "component" NAME). */}}
{{- define "occurrent.selector" -}}
app.kubernetes.io/name: occurrent
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "occurrent.tag" -}}
{{ .Values.images.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "occurrent.claim" -}}
{{ .Values.files.existingClaim | default (printf "%s-files" .Release.Name) }}
{{- end }}

{{/* The pod: not root, nothing of the cluster's API, secrets as files. */}}
{{- define "occurrent.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "occurrent.container" -}}
imagePullPolicy: {{ .Values.images.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- with .Values.extraSecretNames }}
envFrom:
{{- range . }}
  - secretRef: { name: {{ . }} }
{{- end }}
{{- end }}
{{- end }}

{{- define "occurrent.environment" -}}
- { name: OCCURRENT_ENV, value: production }
- { name: OCCURRENT_VAR, value: /var/lib/occurrent }
- { name: HOME, value: /tmp }
- { name: SECRET_KEY_FILE, value: /run/secrets/occurrent/secret_key }
- { name: DATABASE_URL_FILE, value: /run/secrets/occurrent/database_url }
- { name: BROKER_URL_FILE, value: /run/secrets/occurrent/broker_url }
- { name: ALLOWED_HOSTS, value: {{ .Values.host | quote }} }
- { name: SITE_URL, value: {{ printf "https://%s" .Values.host | quote }} }
- { name: BEHIND_PROXY, value: "on" }
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "occurrent.mounts" -}}
- { name: secrets, mountPath: /run/secrets/occurrent, readOnly: true }
- { name: files, mountPath: /var/lib/occurrent }
- { name: tmp, mountPath: /tmp }
{{- end }}

{{- define "occurrent.secrets" -}}
- name: secrets
  secret:
    secretName: {{ .Values.secretName }}
    defaultMode: 0440
    items:
      - { key: secret_key, path: secret_key }
      - { key: database_url, path: database_url }
      - { key: broker_url, path: broker_url }
{{- end }}

{{- define "occurrent.owner" -}}
- name: owner
  secret:
    secretName: {{ .Values.secretName }}
    defaultMode: 0440
    items:
      - { key: database_owner_url, path: database_owner_url }
{{- end }}

{{- define "occurrent.volumes" -}}
{{ include "occurrent.secrets" . }}
- name: files
  persistentVolumeClaim: { claimName: {{ include "occurrent.claim" . }} }
- name: tmp
  emptyDir: {}
{{- end }}
