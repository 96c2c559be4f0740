"""The version: read by the build, by the package and by reports."""

__version__ = "0.1.0"
