// SPDX-License-Identifier: Apache-2.0
// A target needs a source: this one only has a precompiled header, see Targets.cmake.
