"""One file per failure mode: what it looks like, and what is easily taken for it. Modules with `_` are support."""
