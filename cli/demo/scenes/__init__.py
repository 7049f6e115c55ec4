"""The demo session, scene by scene. Each is a function of the stage and gives the ids that later scenes go back to."""
