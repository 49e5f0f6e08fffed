"""The reading room: banks, images, review rounds, people and jobs."""

VERSION = "1.1.0"  # of this program: stored with every analysis, printed in every report
