"""Reproduction of Seeam, Zheng and Hu's papers on Corr-RR, and of what improves on it; see README.md."""
