"""What the studies of sparse rewards share: tasks, runs side by side, what became of them, pictures, a report."""
