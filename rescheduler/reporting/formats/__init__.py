"""The forms of a report: terminal, page, Markdown and JSON."""
