"""Reproduction of Seeam, Zheng and Hu's papers on Corr-RR, and improvements on Corr-RR; see README.md."""
