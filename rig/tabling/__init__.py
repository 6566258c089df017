# SPDX-License-Identifier: GPL-2.0
"""rig/tables: its parts."""
