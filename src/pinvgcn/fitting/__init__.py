"""From rows and labels to a fitted model."""
