"""The content of a table: its properties, its timeline (the only writer of instant files), its files."""
