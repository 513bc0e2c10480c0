"""The configuration files; a regular package, since an editable install finds `fwexp.conf` only as one."""
