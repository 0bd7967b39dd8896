# SPDX-License-Identifier: Apache-2.0
# What reads the files of results: figures and pages of them, and the second path of every number.
from __future__ import annotations


class Refused(Exception):
    """What cannot be used, and why: exit code 2."""
