"""``python -m experiments``: every paper's commands; ``all``: run them; ``data``: the data sets they read."""

from experiments.overview import main

if __name__ == "__main__":
    main()
