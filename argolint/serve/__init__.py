"""A service that checks repeatedly and answers from the last report.

documents       the answers at each address, made once per report
checker         runs the checks in the background and publishes them
checked         the result of one check
watcher         decides when to list, look and reconnect while following changes: hints and a clock in, actions out
stream          Argo CD's event stream as hints
follower        the thread that reads the stream, and the due checks
fleet_reader    reads everything, or what changed, while changes are followed
times           the intervals of all this
live            metrics of the service itself
web             the HTTP server: only GET, with limits, from memory
extension       answers for Argo CD's own UI: the findings of one application
other_projects  findings without the names of applications that the reader must not see
ui              the file that Argo CD's UI loads, and its archive
"""
