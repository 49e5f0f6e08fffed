"""Images come in: files and archives are decoded in a child process, stored under random names, and become rows."""
