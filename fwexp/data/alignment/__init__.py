"""Word alignment: counting words that occur together, aligning them without supervision, and describing their pairs."""
