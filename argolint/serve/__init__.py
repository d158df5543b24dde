"""A service that checks again and again and answers from the last report.

documents  what one report looks like at each address, made once
checker    the checks, in the background, and what is published of them
web        the HTTP server: GET only, bounded, from memory
"""
