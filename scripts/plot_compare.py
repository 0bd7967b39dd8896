# SPDX-License-Identifier: Apache-2.0
# plot_compare.py FOLDER draws figures/cost.png and .svg, or cost-….png and .svg for each of several
# workloads, from the compare.json of a comparison (scalebench compare --instance ... --out FOLDER). It
# computes nothing that it should hold.
# Exit: 0 done, 2 usage, 3 no matplotlib. Call it through scripts/python, which finds one.
import sys

from view.figures import one

if __name__ == "__main__":
    sys.exit(one.main("plot_compare.py", "cost", "scalebench compare --out"))
