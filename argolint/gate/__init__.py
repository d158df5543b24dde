"""The pull-request gate: judges what a change does in Argo CD before it is merged, by the findings that it adds.

Findings that base already has are counted; an application that renders neither before nor after is reported; values that differ between any
two renders are treated as equal.
"""
