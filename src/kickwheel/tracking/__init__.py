"""MLflow: the only package that imports it. One experiment a domain, a parent run a lap, a child run a stage."""
