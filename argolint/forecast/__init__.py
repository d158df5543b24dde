"""What has not happened yet: an upgrade, a deletion, a prune, a move, said from what a check reads.

releases    the products, their release lines, and what lies between two versions
table       the rows of upgrade tables: a condition, an effect, what to do first, a source
today       what runs on the clusters
world       everything that a forecast looks at: the fleet, the applications that were read, what could not be read
conditions  the closed set of conditions that rows name
charts      charts that the fleet renders, as products
upgrade     rows against a world
deletion    what a deletion or a prune takes, in which order, what stays and what hangs
fate, staying, volumes, consequences  what becomes of the objects of a deletion
move, moves the ordered plan by which an application changes its name, its set, its cluster or its Argo CD
removal     which applications and objects a deletion means; all reading for it
report      a forecast as a report: findings, and what no API says
"""
