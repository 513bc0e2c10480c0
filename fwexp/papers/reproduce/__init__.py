"""All papers at once, ``fwexp reproduce``, and the small copies of the outcome that are committed, ``fwexp publish``."""
