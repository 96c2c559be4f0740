"""Logs of evaluation tools: a reader per format, each giving the same runs and samples."""
