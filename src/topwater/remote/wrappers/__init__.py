"""What keeps a source in bounds: deadline, batches, retries, circuit breaker, rate limit."""
