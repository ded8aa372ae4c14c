"""`python -m psychemme`."""

from psychemme.cli.main import main

if __name__ == "__main__":
    main()
