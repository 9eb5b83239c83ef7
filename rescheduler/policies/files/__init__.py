"""Policy files: read, checked, described."""
