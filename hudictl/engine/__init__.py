"""Where work runs: ``map(label, function, items)``, on threads or on Spark. Knows nothing of Hudi."""
