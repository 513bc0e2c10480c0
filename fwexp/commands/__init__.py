"""The subcommands of ``fwexp``, a file each, except ``run``, which is Hydra's."""
