"""The subcommands of ``fwexp`` but for ``run``, which is Hydra's: a file each."""
