"""What restore and rollback share."""
