"""Mechanisms that deal types in nearly fixed numbers: quota randomised response and its extensions."""
