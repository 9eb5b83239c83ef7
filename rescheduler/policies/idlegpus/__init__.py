"""Kind IdleGPUs: pods that have GPUs and hardly use them."""
