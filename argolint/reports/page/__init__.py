"""The HTML report: its template, style and script. Nothing here is loaded from elsewhere."""
