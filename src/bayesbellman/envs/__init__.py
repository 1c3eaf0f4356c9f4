"""Environments as pure dynamics. They never reset themselves, and keep a time limit apart from termination."""
