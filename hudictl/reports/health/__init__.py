"""The findings of ``check``, one module for each family. Each function checks one thing, and yields its findings."""
