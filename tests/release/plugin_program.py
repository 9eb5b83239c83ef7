"""Where the frozen program begins."""

import multiprocessing

from rescheduler.cli.main import main

if __name__ == "__main__":
    multiprocessing.freeze_support()
    main()
