"""``python -m experiments``: list the commands of all papers; ``all`` runs them, ``data`` makes their data sets."""

from experiments.overview import main

if __name__ == "__main__":
    main()
