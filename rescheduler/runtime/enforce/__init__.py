"""Acting on a plan: intents, evictions, awaiting replacements."""
