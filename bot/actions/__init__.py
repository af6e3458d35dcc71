"""One file per action: what it proposes. Modules that begin with `_` are support."""
