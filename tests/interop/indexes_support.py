"""What the tests of indexes share with others."""

SKIP = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
