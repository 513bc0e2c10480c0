"""Schemes of tags: the letters of each, and the places in a chunk that they mean (Beginning, Inside, End, Single)."""

BIO = {"B": "B", "I": "I"}
BIOES = {"B": "B", "I": "I", "E": "E", "S": "S"}
SCHEMES = {
    "BIO": BIO,
    "IOB2": BIO,
    "IOB1": BIO,  # begins chunks with I unless they follow their like
    "BIOES": BIOES,
    "IOBES": BIOES,
    "BILOU": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "BMES": {"B": "B", "M": "I", "E": "E", "S": "S"},
}
