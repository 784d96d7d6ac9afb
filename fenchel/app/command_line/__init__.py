"""What all commands share: options, terminal, requirements, Ctrl-C."""
