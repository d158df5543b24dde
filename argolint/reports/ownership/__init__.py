"""Reports ownership of objects: the owner, other claimants, and what a deletion deletes.

graph     objects with their claims, and small pictures of connected parts
fleet     ownership on a server, from one list of its Applications
findings  ownership in a report's findings
text, diagrams, svg    the output formats
"""
