"""The schema, step by step. A file is never edited once it was released."""
