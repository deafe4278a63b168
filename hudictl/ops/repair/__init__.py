"""Mends what is damaged: each repair is a plan of files, with the reasons for each, and ``undo`` takes it back."""
