"""How results look: as text for eyes, as JSON for scripts."""
