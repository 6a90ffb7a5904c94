"""Entry point of ``python -m deniable.cli``."""

from __future__ import annotations

from deniable.cli import main

if __name__ == "__main__":
    main()
