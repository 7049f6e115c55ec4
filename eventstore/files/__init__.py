"""Import harnesses' session files, and export sessions as files."""
