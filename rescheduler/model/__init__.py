"""What is: cluster objects, topology, readings, moves, plans, reasons, errors. Values only."""
