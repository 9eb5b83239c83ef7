"""The image: built for real, unpacked, and run as the manifests say."""
