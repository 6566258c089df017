"""What the environment's BASE means to the rig's Python: OUT, where this base's things are built,
and RECORDED, what stock answered on it and what the rows of the benchmark cost.

rig/lib.sh does the same for its scripts.
"""
import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BASES = ("7.3", "6.12")
# where rig/deps says which base there is, if that is not the first one
DEFAULT = TOP / "out" / "default"
BASE = os.environ.get("BASE") or (DEFAULT.read_text().strip() if DEFAULT.exists() else BASES[0])
if BASE not in BASES:
    sys.exit(f"error: BASE is {' or '.join(BASES)}, not '{BASE}'")
RECORDED = TOP / "rig" / "recorded" / BASE
OUT = TOP / "out" if BASE == BASES[0] else TOP / "out" / BASE
