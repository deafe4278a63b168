"""Object stores that are servers of their own: S3, Google Cloud Storage and Azure."""
