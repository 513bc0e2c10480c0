"""One training spread over the workers of a Dask cluster: `shard`, `from_parts`, and then ``fwexp.solve`` as for any problem.

Dask stands here only. Two schemes, which `fwexp.solve` chooses between by what an oracle call costs, or ``scheme=`` says:
``oracles`` and ``local``, each in the file of its name; all other solvers run where they are called, and have workers answer
for the oracle.
"""

from fwexp.errors import needing

with needing("a cluster needs"):
    import distributed  # noqa: F401

from fwexp.distributed.shards import Shards, from_parts, shard

__all__ = ["Shards", "from_parts", "shard"]
