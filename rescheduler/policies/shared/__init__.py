"""Parts that several policy kinds use: selection, acceptance, load, coverage, GPUs."""
