"""The releases of Hudi on which facts are checked: each writes one table version (6, 8, 9)."""

V0_15 = "0.15.0"
V1_0 = "1.0.2"
V1_2 = "1.2.0"
