"""What a table contains: its properties, its timeline (the only writer of instant files), its files."""
