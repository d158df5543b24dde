"""One sync as Argo CD does it: what it applies, in which order, and what it waits for before it goes on.

order   when a sync applies an object: phases, waves, hooks and when they are deleted
tasks   what one sync has to do, sorted as Argo CD sorts it: kinds within a wave, prunes in reverse, namespaces before what they hold
play    the sync from the first task to its end, for objects of which the caller says how they turn out

Pure functions of manifests. Source: gitops-engine/pkg/sync of argoproj/argo-cd.
"""
