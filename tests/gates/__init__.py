"""Gates: promises under faults, each with a bug of its own that must turn it red."""
