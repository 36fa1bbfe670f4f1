"""What every other package may use: validation, threads, progress, files, text and small statistics."""
