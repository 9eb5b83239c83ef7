#!/usr/bin/env bash
# Builds the image twice, as an OCI archive, without a registry and without an engine: from a base that
# mmdebstrap makes of Debian's packages. Fails unless both are the same to the bit. Needs root,
# mmdebstrap and buildah. `build.sh ARCHIVE` writes that file.
set -euo pipefail
archive=$(realpath "$1")
cd "$(dirname "$0")/../.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} # of all files in the image
mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
release=$(sed -n 's/^ARG BUILDER=debian:\([a-z]*\)-slim$/\1/p' Dockerfile)

work=$(mktemp -d)
buildah() { command buildah --root "$work/images" --runroot "$work/run" "$@"; }
trap 'buildah rm --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

printf 'deb %s main\n' "$mirror/debian $release" "$mirror/debian $release-updates" \
  "$mirror/debian-security $release-security" >"$work/sources.list"
# As the slim image of Debian: no documentation but licenses.
mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' "$release" "$work/base.tar" "$work/sources.list"
base=$(buildah from scratch)
buildah add --quiet "$base" "$work/base.tar" / >/dev/null
buildah commit --quiet --rm "$base" localhost/base:made >/dev/null

# Where authorities or an index of this machine stand between it and PyPI, pip hears of them, as it does
# here. The image has nothing of them.
printf '[global]\ncert = /etc/machine.crt\n%s\n' "${PIP_INDEX_URL:+index-url = $PIP_INDEX_URL}" >"$work/pip.conf"
build_archive() {
  buildah build --isolation chroot --pull-never --timestamp "$SOURCE_DATE_EPOCH" \
    --volume "$work/pip.conf:/etc/pip.conf:ro" \
    --volume /etc/ssl/certs/ca-certificates.crt:/etc/machine.crt:ro \
    --build-arg BUILDER=localhost/base:made ${LOCK:+--build-arg "LOCK=$LOCK"} --iidfile "$work/image" . \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  buildah push --quiet "$(cat "$work/image")" "oci:$work/layout:rescheduler"
  buildah rmi "$(cat "$work/image")" >/dev/null
  tar -C "$work/layout" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -cf "$1" .
  rm -r "$work/layout"
}
build_archive "$work/first.tar"
build_archive "$work/second.tar"
cmp "$work/first.tar" "$work/second.tar"
mv "$work/first.tar" "$archive"
