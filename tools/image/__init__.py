"""The container image, built with docker, podman or buildah."""
