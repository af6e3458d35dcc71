{{- define "waterline.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "waterline.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "waterline.testSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "waterline.labels" -}}
{{ include "waterline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "waterline.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "waterline.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "waterline.secret" -}}
{{ .Values.secrets.existing | default (include "waterline.name" .) }}
{{- end }}

{{- define "waterline.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "waterline.mode" -}}
{{ dig "slack" "mode" "socket" .Values.config }}
{{- end }}

{{/* What the pod decides and not the configuration: where it keeps files and on which ports it listens. */}}
{{- define "waterline.config" -}}
{{- $pod := dict "home" "/var/lib/waterline" "web" (dict "host" "0.0.0.0" "port" 8370) }}
{{- if eq (include "waterline.mode" .) "http" }}{{ $_ := set $pod "slack" (dict "host" "0.0.0.0" "port" 3000) }}{{ end }}
{{- mergeOverwrite (deepCopy .Values.config) $pod | toYaml }}
{{- end }}

{{- define "waterline.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Contradictions that the schema cannot see, each with what to do. */}}
{{- define "waterline.check" -}}
{{- if not .Values.config }}{{ fail "config is empty. Expected the content of waterline.yaml. Put it under `config:`, see deploy/waterline.example.yaml." }}{{ end }}
{{- $onSqlite := not (hasPrefix "postgresql" (dig "journal" "url" "" .Values.config)) }}
{{- if and $onSqlite (gt (int .Values.replicas) 1) }}{{ fail "A record in SQLite takes one pod. Expected config.journal.url with a PostgreSQL database, or `replicas: 1`. Set one of them." }}{{ end }}
{{- if and $onSqlite (not .Values.persistence.enabled) }}{{ fail "A record in SQLite would be lost with its pod. Expected config.journal.url with a PostgreSQL database, or `persistence.enabled: true`. Set one of them." }}{{ end }}
{{- $ways := list .Values.secrets.existing (len .Values.secrets.values | int) .Values.secrets.external.enabled | compact }}
{{- if ne (len $ways) 1 }}{{ fail (printf "Expected one source of secrets, found %d. Set one of secrets.existing, secrets.values and secrets.external.enabled." (len $ways)) }}{{ end }}
{{- end }}
