{{- define "argolint.name" -}}
{{- $short := .Values.nameOverride | default .Chart.Name }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $short .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $short | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "argolint.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "argolint.own" -}}
{{ include "argolint.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Labels of an object: the context, and more labels. Ours win, since selectors look for them. */ -}}
{{- define "argolint.labels" -}}
{{- $given := list . dict }}{{ if kindIs "slice" . }}{{ $given = . }}{{ end }}
{{- $own := include "argolint.own" (first $given) | fromYaml }}
{{- mergeOverwrite dict (first $given).Values.commonLabels (last $given) $own | toYaml }}
{{- end }}

{{- /* Annotations of an object: the context, and more annotations; nothing when there are none. */ -}}
{{- define "argolint.annotations" -}}
{{- $given := list . dict }}{{ if kindIs "slice" . }}{{ $given = . }}{{ end }}
{{- with mergeOverwrite dict (first $given).Values.commonAnnotations (last $given) }}
annotations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "argolint.image" -}}
{{- $repository := required "image.repository is empty: build deploy/Containerfile and name the image" .Values.image.repository -}}
{{- if .Values.image.digest }}{{ $repository }}@{{ .Values.image.digest }}{{ else }}{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "argolint.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "argolint.name" .) }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "argolint.pod" -}}
serviceAccountName: {{ include "argolint.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.podSecurityContext }}
securityContext: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
- name: tmp
  emptyDir: {}
- name: config
  configMap: {name: {{ include "argolint.name" . }}}
{{- with .Values.argocd.caSecret }}{{ if .name }}
- name: ca
  secret:
    secretName: {{ .name }}
    items: [{key: {{ .key }}, path: ca.crt}]
{{- end }}{{ end }}
{{- if and .Values.persistence.enabled (eq .Values.mode "serve") }}
- name: state
  persistentVolumeClaim: {claimName: {{ .Values.persistence.existingClaim | default (include "argolint.name" .) }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "argolint.container" -}}
name: argolint
image: {{ include "argolint.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.securityContext }}
securityContext: {{ toYaml . | nindent 2 }}
{{- end }}
resources: {{ toYaml .Values.resources | nindent 2 }}
env:
- name: ARGOCD_SERVER
  value: {{ .Values.argocd.server | quote }}
- name: ARGOCD_AUTH_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ .Values.argocd.existingSecret.name }}, key: {{ .Values.argocd.existingSecret.key }}}
{{- if and .Values.serve.existingTokenSecret.name (eq .Values.mode "serve") }}
- name: ARGOLINT_SERVE_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ .Values.serve.existingTokenSecret.name }}, key: {{ .Values.serve.existingTokenSecret.key }}}
{{- end }}
{{- if and .Values.extension.existingTokenSecret.name (eq .Values.mode "serve") }}
- name: ARGOLINT_EXTENSION_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ .Values.extension.existingTokenSecret.name }}, key: {{ .Values.extension.existingTokenSecret.key }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
volumeMounts:
- {name: tmp, mountPath: /tmp}
- {name: config, mountPath: /etc/argolint, readOnly: true}
{{- if .Values.argocd.caSecret.name }}
- {name: ca, mountPath: /etc/argolint-ca, readOnly: true}
{{- end }}
{{- if and .Values.persistence.enabled (eq .Values.mode "serve") }}
- {name: state, mountPath: /var/lib/argolint}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "argolint.connection" -}}
- --config-file=/etc/argolint/argolint.yaml
{{- if .Values.argocd.rootPath }}
- --grpc-web-root-path={{ .Values.argocd.rootPath }}
{{- end }}
{{- if .Values.argocd.caSecret.name }}
- --server-crt=/etc/argolint-ca/ca.crt
{{- end }}
{{- if .Values.argocd.plaintext }}
- --plaintext
{{- end }}
{{- if .Values.argocd.insecure }}
- --insecure
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
