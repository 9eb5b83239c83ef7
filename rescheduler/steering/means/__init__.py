"""The means of steering: a file for each, which is found by being here."""
