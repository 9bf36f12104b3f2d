"""Process-wide settings: threads, forks, memory, floating-point errors."""
