# SPDX-License-Identifier: Apache-2.0
# plot_prediction.py FOLDER draws figures/prediction.png and .svg from the prediction.csv of
# `scalebench predict` and computes nothing that the CSV should hold.
# Exit: 0 done, 2 usage, 3 no matplotlib. Call it through scripts/python, which finds one.
import sys

from view.figures import one

if __name__ == "__main__":
    sys.exit(one.main("plot_prediction.py", "prediction", "scalebench predict"))
