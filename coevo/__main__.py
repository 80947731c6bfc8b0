"""`python -m coevo` is the `coevo` command."""

from coevo.cli import main

if __name__ == "__main__":
    main()
