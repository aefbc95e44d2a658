"""The programs that a wheel brings: bin, lib and share beside this file. A package without them is the client alone."""
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def main() -> None:
    """Becomes the program by whose name it was started."""
    os.execv(os.path.join(FOLDER, os.path.basename(sys.argv[0])), sys.argv)
