"""The plugins for volumes and claims."""
