"""Decision trees learned under differential privacy."""

from coppice._core import __version__

__all__ = ["__version__"]
