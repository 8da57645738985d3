"""How a model is fitted, and how well it is expected to do."""
