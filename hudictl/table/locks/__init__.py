"""Who may write: hudictl's own claim, and the locks of Hudi's writers."""
