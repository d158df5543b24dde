"""What a rule sees: one application, its objects and operation, the fleet; and what a rule is."""
