"""Kind Locality: pods near the pods and the data that they use."""
