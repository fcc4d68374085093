"""How fast whole public calls are beside the raw driver: `python -m tests.bench --help`."""
