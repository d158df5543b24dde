"""The HTML report: its template, style and script. Nothing is loaded from elsewhere."""
