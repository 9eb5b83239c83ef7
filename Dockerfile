# Two stages: Debian, where pip and Python's compiler are; and what runs, which has neither a shell nor
# pip, and no file of the base but those that runtime.sh picks. A release pins the base by digest:
# --build-arg BUILDER=...@sha256:... Without a registry, `make image` makes one of Debian's packages.
ARG BUILDER=debian:trixie-slim

FROM ${BUILDER} AS builder
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update -q && apt-get upgrade -qy \
 && apt-get install -qy --no-install-recommends ca-certificates libstdc++6 python3 python3-venv
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ONLY_BINARY=:all:
WORKDIR /build
RUN python3 -m venv /tools

# The wheel, by the build tools of the lock alone, which do not reach the image.
COPY requirements-dev.lock ./
RUN awk '/^[a-z]/ {name = $1} {text[name] = text[name] $0 "\n"} \
    /^hatchling==|# +(via )?hatchling$/ {wanted[name]} \
    END {for (name in wanted) printf "%s", text[name]}' requirements-dev.lock > tools.lock \
 && /tools/bin/pip install --require-hashes -r tools.lock
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY rescheduler ./rescheduler
COPY policies ./policies
RUN /tools/bin/python -c "from hatchling.build import build_wheel; build_wheel('/dist')"

# Dependencies by hash, then the wheel, where the base's Python looks for what Debian does not bring.
# kubernetes/aio is a second, asynchronous client that is larger than everything else together. Byte
# code is compiled now, since nothing is writable later.
# LOCK=requirements-clouds.lock adds what --prometheus-auth aws, azure and google need.
ARG LOCK=requirements.lock
COPY requirements.lock requirements-clouds.lock ./
RUN site=$(python3 -c 'import sys; print("/image/usr/local/lib/python%d.%d" % sys.version_info[:2])') \
 && site=$site/dist-packages \
 && /tools/bin/pip install --require-hashes --no-compile --target "$site" -r "$LOCK" \
 && PIP_ONLY_BINARY= /tools/bin/pip install --no-deps --no-index --no-compile --target "$site" /dist/*.whl \
 && rm -rf "$site/kubernetes/aio" "$site/bin" \
 && python3 -m compileall -q --invalidation-mode unchecked-hash -s /image "$site"

# Python, the libraries that it and the wheels load, authorities, and the user.
COPY deploy/image/runtime.sh ./
RUN ./runtime.sh /runtime

FROM scratch
COPY --from=builder /runtime /
COPY --from=builder /image /
USER 65532:65532
WORKDIR /tmp
# -I: no environment variable and no folder of the caller changes what is imported; -P as well.
ENTRYPOINT ["/usr/bin/python3", "-I", "-P", "-m", "rescheduler"]
CMD ["--help"]
