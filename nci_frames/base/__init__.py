"""What every room may use: arguments, errors, messages, files."""
