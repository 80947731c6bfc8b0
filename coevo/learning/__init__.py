"""What both loops share: a model that is open and can move, its steps, seeds of named random acts, and stop rules."""
