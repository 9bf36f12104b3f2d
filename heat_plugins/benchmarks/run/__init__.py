"""Running studies, and measuring how long suggestions take."""
