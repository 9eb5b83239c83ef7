"""Reports: plans, outcomes, explanations and history as text, HTML, Markdown and JSON."""
