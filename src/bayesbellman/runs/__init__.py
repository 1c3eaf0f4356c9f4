"""What a run shows while it goes on and leaves behind."""
