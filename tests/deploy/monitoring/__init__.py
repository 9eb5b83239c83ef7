"""Makes the rules, monitors, dashboards and tables of deploy/ from the catalogue of metrics."""
