"""A model beside the others: privileged access, ensembles, disagreements."""
