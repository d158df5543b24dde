"""Who owns which object, who else claims it, and what a deletion takes along.

graph     objects with their claims; parts that hang together, shown small
fleet     that of a server, from one list of its Applications
findings  that of a report's findings about ownership
text, diagrams, svg    what is printed
"""
