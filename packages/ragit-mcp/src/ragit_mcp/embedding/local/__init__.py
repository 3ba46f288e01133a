"""Parts of providers that run in this process: model files and the arithmetic over them."""
