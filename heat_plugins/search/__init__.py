"""Where the next point may be, and how it is found."""
