"""Parts of providers that ask a service: batches, retries, and requests that cannot be led astray."""
