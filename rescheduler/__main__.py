"""`python -m rescheduler`: the same as the `rescheduler` command."""

from rescheduler.cli.main import main

if __name__ == "__main__":
    main()
