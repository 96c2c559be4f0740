"""The version of the package, which the build and reports also use."""

__version__ = "0.1.0"
