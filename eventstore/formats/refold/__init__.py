"""refold's own records, in the shape of pi's version 3."""
