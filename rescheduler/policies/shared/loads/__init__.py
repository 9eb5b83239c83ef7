"""Load of nodes, measured or requested: relieved, balanced, or packed onto fewer nodes."""
