"""How it runs: settings, one cycle, guards, the service, telemetry."""
