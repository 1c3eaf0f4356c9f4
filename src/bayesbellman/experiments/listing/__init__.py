"""What training runs and studies lie below a folder, and how far they are."""
