"""The plugins that look at volumes and claims."""
