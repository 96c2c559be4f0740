"""How people do on what models were asked."""
