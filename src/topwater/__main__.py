"""``python -m topwater``, the same as the command ``topwater``."""

from topwater.cli import app

if __name__ == "__main__":
    app(prog_name="topwater")
