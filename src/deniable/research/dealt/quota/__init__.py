"""Dealt types in nearly fixed numbers: quota randomised response and what goes further."""
