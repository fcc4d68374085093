"""The nouns of memkit as rows, for every SQL database: portable statements, dialects as data."""
