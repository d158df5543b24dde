"""The input of a rule: one application, its objects and operation, the fleet; and the definition of a rule."""
