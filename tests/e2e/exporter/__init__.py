"""A process that serves the load of every node and pod as the usual exporters do."""
