"""Have a model read what each boundary of a session lost, and check every word that it says."""
