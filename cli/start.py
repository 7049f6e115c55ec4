"""Start the command: Ctrl-C ends it with one line, and does nothing once it is done."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Load and run the command."""
    # Commands leave little garbage in cycles. To search for it after every 700 new objects takes a sixth of an
    # audit's time, after every 10,000 a twelfth.
    gc.set_threshold(100_000)
    try:
        # Even this takes milliseconds, in which Ctrl-C would print a traceback.
        import signal

        try:
            from cli.main import main as run

            run()
        finally:
            # While Python exits, Ctrl-C would print a traceback and replace the exit code.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            # Memory goes back to the system as a whole. To search all of it for garbage at exit takes time, and
            # Python 3.13.0 can crash there, after all is printed.
            gc.freeze()
    except KeyboardInterrupt:
        sys.stderr.write("refold: interrupted\n")
        sys.exit(130)
