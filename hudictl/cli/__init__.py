"""How it is asked: the only importer of click. Commands import what they run inside, so that ``--help`` stays quick."""
