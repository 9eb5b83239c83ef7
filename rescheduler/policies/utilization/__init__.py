"""Kind Utilization: measured load below a target, balanced, or packed."""
