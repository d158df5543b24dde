"""Models a sync of Argo CD: what it applies, in which order, and what it waits for.

order   when a sync applies an object: phases, waves, hooks and their deletion
tasks   the tasks of one sync in Argo CD's order: kinds within a wave, prunes in reverse, namespaces before their objects
play    simulates the sync; the caller gives the result of each object

Pure functions of manifests. Source: gitops-engine/pkg/sync of argoproj/argo-cd.
"""
