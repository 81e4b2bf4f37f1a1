"""``python -m kickwheel``: the same as the command ``kickwheel``."""

from kickwheel.cli import main

if __name__ == "__main__":
    main()
