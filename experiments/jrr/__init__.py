"""Reproductions of joint randomised response (Zheng, Seeam, Hu, Zhang, Zhang, PoPETs 2025(3))."""
