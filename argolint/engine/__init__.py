"""From a transport and rules to an outcome."""
