"""How reports, shares and answers lie in files."""
