"""The pull-request gate: what a change does in Argo CD, judged before it is merged, and only by what it brings itself.

Findings that base has already are counted, an application that renders neither before nor after is reported, and values that no
two renders share are taken as equal.
"""
