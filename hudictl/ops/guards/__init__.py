"""What must hold before the first write; a module a family. Each guard raises, or says nothing."""
