"""Generators of the documentation, pictures, dashboards and chart files, and the image build."""
