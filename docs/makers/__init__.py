"""What the generated pages are made of: each module here makes the text of one kind of page."""
