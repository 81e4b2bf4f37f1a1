"""Versions go in and out of service: aliases, routing and ledger, in an order that a kill cannot break."""
