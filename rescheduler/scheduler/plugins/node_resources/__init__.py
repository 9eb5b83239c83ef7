"""The plugins that look at what pods request and nodes have."""
