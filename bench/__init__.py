"""What refold costs, beside the floor and the peers that do the same work another way."""
