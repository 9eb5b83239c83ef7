"""How far names and sentences are from plain words, as counts that may only fall."""
