"""Generators of the documentation, pictures, dashboards and chart files, and the builds of image and release.

Functions that run a program raise `BuildFailed`, with its output, where it fails, and `UnavailableHere` where this
machine cannot run it.
"""
