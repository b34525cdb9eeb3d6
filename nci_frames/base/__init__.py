"""Shared by all subpackages: arguments, errors, messages, files."""
