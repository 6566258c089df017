"""What the environment's BASE means to the rig's Python: OUT, where this base's things are built,
and RECORDED, what stock answered on it and what the rows of the benchmark cost.

rig/lib.sh does the same for its scripts.
"""
import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BASES = ("6.12", "7.3")
BASE = os.environ.get("BASE") or "6.12"
if BASE not in BASES:
    sys.exit(f"error: BASE is {' or '.join(BASES)}, not '{BASE}'")
RECORDED = TOP / "rig" / "recorded" / BASE
OUT = TOP / "out" if BASE == "6.12" else TOP / "out" / BASE
