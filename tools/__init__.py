"""What makes the documentation, dashboards, chart files and image."""
