"""Reproduction of Pan's paper on the optimised count-mean sketch; see README.md."""
