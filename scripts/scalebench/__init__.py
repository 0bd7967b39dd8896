# SPDX-License-Identifier: Apache-2.0
# What reads the files of results: figures and pages of them, and the second path of every number.
