"""Applications looked at by more than this process: processes of this machine, or the workers of a Dask cluster.

    spread      cuts the applications into chunks, hands them out, and cuts a chunk that ends its worker in halves
    context     what a worker looks with, and one chunk looked at
    processes   workers on this machine

A worker reads and decodes the server's answers itself; only names go to it, and only results come back.
"""
