"""What an adversary knows: joint distributions, from records or estimates, and what one release says through them."""
