"""How fast, how small, how punctual: benchmarks, each a command."""
