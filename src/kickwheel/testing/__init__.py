"""Fakes and samples that ship: what Kickwheel's own tests, and yours, run on."""
