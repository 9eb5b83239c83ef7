#!/bin/bash
# Copies what the program needs of the Debian that builds it into a folder: the files of these packages,
# the certificates of authorities, and a user. No shell, no pip, no program that changes its user.
set -euo pipefail
to=$1

packages=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' libc6 libgcc-s1 'gcc-*-base' libstdc++6 \
  'python3*-minimal' 'libpython3*-minimal' 'libpython3*-stdlib' 'libssl3*' zlib1g libzstd1 libbz2-1.0 \
  liblzma5 libexpat1 libffi8 libuuid1 | sed -n 's/^ii *//p')

# Debian compiles Python's own modules as it installs them: for the times of these files, and unlisted.
python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3.*

mkdir -p "$to/etc" "$to/var/lib/dpkg"
{
  { dpkg-query -L $packages; find /usr/lib/python3.* -name '*.pyc'; } \
    | grep -v -e /binfmt -e /ensurepip -e /gconv \
    | grep -E '^/usr(/bin(/python3[.0-9]*)?|/lib(64)?(/.*)?|/share(/doc(/[^/]+(/copyright)?)?)?)?$' \
    | while read -r file; do if [ -e "$file" ]; then echo "$file"; fi; done # slim bases lack some
  ls -d /bin /lib* /etc/os-release /usr/lib/os-release /etc/debian_version /etc/nsswitch.conf \
    /usr/lib/ssl/cert.pem /usr/lib/ssl/certs /etc/ssl/certs/ca-certificates.crt
} | sort -u >/tmp/files
tar -C / --no-recursion -cPf - -T /tmp/files | tar -C "$to" -xpf -
# Scanners read here what these files are of.
dpkg-query -s $packages >"$to/var/lib/dpkg/status"

echo 'nonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin' >"$to/etc/passwd"
echo 'nonroot:x:65532:' >"$to/etc/group"
mkdir -m 1777 "$to/tmp"
