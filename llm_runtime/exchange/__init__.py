"""Ask models by files: requests go out, answers come back (docs/reference/exchange.md)."""
