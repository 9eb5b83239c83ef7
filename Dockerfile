# Two stages: what builds, with pip and the whole Python image; and what runs, which has neither a
# shell nor pip. A release pins both base images by digest: --build-arg BUILDER=...@sha256:...
ARG BUILDER=python:3.13-slim-trixie
ARG RUNTIME=gcr.io/distroless/python3-debian13:nonroot

FROM ${BUILDER} AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ONLY_BINARY=:all:
WORKDIR /build

# The wheel, built by the pinned builder in an environment that does not reach the image.
COPY requirements-dev.lock ./
RUN python -m venv /wheel && /wheel/bin/pip install --require-hashes -r requirements-dev.lock
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY rescheduler ./rescheduler
COPY policies ./policies
RUN /wheel/bin/python -c "from hatchling.build import build_wheel; build_wheel('/dist')"

# Dependencies by hash, then the wheel. kubernetes/aio is a second, asynchronous client that is
# larger than everything else together. Byte code is compiled now, since nothing is writable later.
# LOCK=requirements-clouds.lock adds what --prometheus-auth aws, azure and google need.
ARG LOCK=requirements.lock
COPY requirements.lock requirements-clouds.lock ./
ENV SITE=/image/usr/local/lib/python3.13/dist-packages
RUN pip install --require-hashes --no-compile --target "$SITE" -r "$LOCK" \
 && PIP_ONLY_BINARY= pip install --no-deps --no-index --no-compile --target "$SITE" /dist/*.whl \
 && rm -rf "$SITE/kubernetes/aio" "$SITE/bin" \
 && python -m compileall -q --invalidation-mode unchecked-hash "$SITE" \
 && cp -L --parents /usr/lib/*-linux-gnu/libstdc++.so.6 /image

FROM ${RUNTIME}
COPY --from=builder /image /
USER 65532:65532
WORKDIR /tmp
# -I: no environment variable and no folder of the caller changes what is imported; -P as well.
ENTRYPOINT ["/usr/bin/python3", "-I", "-P", "-m", "rescheduler"]
CMD ["--help"]
