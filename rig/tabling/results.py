# SPDX-License-Identifier: GPL-2.0
"""rig/tables: results on disk, by kernel and date, and which of them stand beside each other."""
import json
import re

from tabling.common import median
from tabling.form import label

VERSION = 1
# How far apart two kernels may be where neither's io_uring takes part.
NOISE = 0.05


def stem(result):
    """The name of a result's files without their ending."""
    words = [result["kernel"]["release"], result["kernel"]["name"], re.sub(r"[-:]", "", result["date"])]
    return re.sub(r"[^\w.+-]", "_", "-".join(w for w in words if w))


def save(result, folder):
    path = folder / (stem(result) + ".json")
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def load(path):
    """A result, or None where the file is none."""
    try:
        result = json.loads(path.read_text())
        return result if result["version"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def same_kernel(one, other):
    if one["build"] and other["build"]:
        return one["build"] == other["build"]
    return label(one) == label(other)


def comparable(result, other):
    """@other with those tables alone that were made the same way; None without any."""
    if other["machine"] != result["machine"]:
        return None
    tables = {name: t for name, t in other["tables"].items()
              if t["rows"] and result["tables"].get(name, {}).get("about") == t["about"]}
    return {**other, "tables": tables} if tables else None


def beside(result, folder, against=""):
    """The kernel with the latest result that can be compared, and the latest of each of its tables.

    Another build of the same name stands beside only where no other name has a result.
    Return: that as one result, or None; how many results of other kernels cannot be compared.
    """
    found = [r for r in map(load, folder.glob("*.json"))
             if r and not same_kernel(result["kernel"], r["kernel"]) and against in label(r["kernel"])]
    best, unlike = None, 0
    for other in sorted(found, key=lambda r: (label(r["kernel"]) != label(result["kernel"]), r["date"]),
                        reverse=True):
        like = comparable(result, other)
        if not like:
            unlike += 1
        elif not best:
            best = like
        elif same_kernel(best["kernel"], like["kernel"]):
            best["tables"] = {**like["tables"], **best["tables"]}
    return best, unlike


def control(result, other):
    """A line about libaio, where it is not the same on both: io_uring has no part in it."""
    if not other:
        return []
    ratios = [median(row["iops"]) / median(beside["iops"])
              for name, table in other["tables"].items()
              for key, beside in table["rows"].items() if key.startswith("libaio ")
              for row in [result["tables"][name]["rows"].get(key)] if row and median(beside["iops"])]
    if not ratios or abs(median(ratios) - 1) <= NOISE:
        return []
    return [f"libaio, in which io_uring has no part, does {median(ratios):.2f} of the other kernel's IOPS: "
            "the machine was not the same, so measure both again"]
