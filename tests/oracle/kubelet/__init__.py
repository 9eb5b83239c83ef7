"""Random nodes and pods, put before kubelet's own resource managers and before the program."""
