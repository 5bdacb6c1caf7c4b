"""Pure text work: no archive, no I/O."""
