"""Files in and out. ``tensors.py``: arrays and JSON in one safetensors file."""
