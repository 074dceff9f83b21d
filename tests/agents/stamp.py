"""`python -m tests.agents.stamp` puts the right stamp into SKILL.md after a change of its text."""

from pathlib import Path

from memoryfield.agents import skill

if __name__ == "__main__":
    Path(skill.__file__).with_name(skill.FILE).write_bytes(skill.stamped(skill.content()))
