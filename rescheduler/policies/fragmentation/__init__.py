"""Kind Fragmentation: free capacity that the pods of the cluster can use."""
