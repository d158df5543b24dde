"""A service that checks again and again and answers from the last report.

documents       what one report looks like at each address, made once
checker         the checks, in the background, and what is published of them
checked         what one check gave
watcher         when to list, look and reconnect while changes are followed: hints and a clock in, actions out
stream          Argo CD's event stream as hints
follower        the thread that reads the stream, and the checks that are due
looks           the looks at everything, or at what changed
times           how often all of this happens
live            metrics of the service itself
web             the HTTP server: GET only, bounded, from memory
extension       what Argo CD's own UI asks for: the findings of one application
other_projects  findings without the names of applications that their reader may not see
ui              the file that Argo CD's UI loads, and its archive
"""
