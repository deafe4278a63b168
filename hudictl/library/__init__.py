"""Hudi tables from Python: ``hudictl.open``, lists, plans and changes. The commands use it, too."""
