"""Test whether models share one factor or several."""
