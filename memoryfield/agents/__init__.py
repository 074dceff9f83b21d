"""What agents get from us: the skill, and where each harness looks for it."""
