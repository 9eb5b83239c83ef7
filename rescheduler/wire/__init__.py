"""Reading from the network within limits of time and size; safe paths of objects."""
