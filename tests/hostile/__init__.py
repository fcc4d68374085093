"""Inputs that have broken memories before, as code of our own: cases, and where they happen."""
