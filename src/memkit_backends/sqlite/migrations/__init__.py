"""The schema, one numbered file for each step; a file is never edited after its release."""
