"""Running: settings, one cycle, the service, the servers, and what people inspect."""
