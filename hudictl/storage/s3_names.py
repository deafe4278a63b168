"""s3fs with names as they are: it would read, write and delete ``a`` for ``a?versionId=1``."""

from s3fs import S3FileSystem


class ExactNames(S3FileSystem):  # type: ignore[misc]  # it has no types
    """The driver for names without versions: hudictl names a version beside the key."""

    def split_path(self, path: str) -> tuple[str, str, None]:
        """Bucket, key, and no version."""
        end = path[len(path.rstrip("/")) :]
        bucket, key = self._find_bucket_key(self._strip_protocol(path).lstrip("/"))
        return bucket, key + end if key else "", None
