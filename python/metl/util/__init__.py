"""What no domain owns: processes, signals, terminals, HTTP, files."""
