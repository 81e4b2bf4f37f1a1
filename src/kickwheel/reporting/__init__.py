"""Plots, the one-page report, the terminal tables: everything drawn from one ``LapReport``, nothing measured here."""
