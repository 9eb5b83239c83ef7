"""What the verbs share: options, output, saved plans."""
