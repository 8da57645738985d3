"""How work runs on the cores of one machine: threads, compiled loops, interrupts."""
