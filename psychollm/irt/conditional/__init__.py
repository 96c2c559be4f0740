"""The Rasch model by conditional maximum likelihood: abilities drop out, nothing is assumed."""
