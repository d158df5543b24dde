"""Predicts an upgrade, a deletion, a prune or a move from the data of a check.

releases    the products, their release lines, and the steps between two versions
table       the rows of upgrade tables: a condition, an effect, what to do first, a source
today       the current versions on the clusters
world       the input of a forecast: the fleet, the applications that were read, and failures
conditions  the conditions that rows can name
charts      charts that the fleet renders, as products
upgrade     applies rows to a world
deletion    which objects a deletion or a prune deletes, and in which order
fate, staying, volumes, consequences  what happens to the objects of a deletion
move, moves the plan to change an application's name, set, cluster or Argo CD
removal     finds and reads the applications and objects of a deletion
report      a forecast as a report
"""
