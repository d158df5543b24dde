"""Looks at applications in other processes: on this machine, or on the workers of a Dask cluster.

    spread      cuts the applications into chunks and hands them out; halves a chunk whose worker ends
    context     the inputs of a worker, and how it looks at one chunk
    processes   workers on this machine

A worker reads and decodes the server's answers itself; only names go to it, and only results come back.
"""
