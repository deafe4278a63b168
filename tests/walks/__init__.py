"""Random walks: the real Hudi makes tables by chance, hudictl works on copies of them, and Hudi judges what it left."""
