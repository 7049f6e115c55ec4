"""What messages name, under which form a path counts, and whether a context names a thing."""
