"""Test whether models score lower on recent questions than difficulty explains."""
