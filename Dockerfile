# OpenZIM MCP in a container.
#
#   docker build --tag openzim-mcp .
#   docker run --rm --interactive --volume "$HOME/zims:/data:ro" openzim-mcp        for a client that uses stdio
#
# For HTTP, set one variable. The server listens on all addresses, because the loopback address of a container cannot be
# reached from outside; without a token (OPENZIM_MCP_AUTH_TOKEN or OPENZIM_MCP_AUTH_TOKEN_FILE) it exits with code 2:
#
#   docker run --rm --env OPENZIM_MCP_TRANSPORT=http --env OPENZIM_MCP_AUTH_TOKEN --publish 127.0.0.1:8000:8000 \
#     --volume "$HOME/zims:/data:ro" openzim-mcp
#
# The minor version is pinned, and a rebuild gets the fixes of Python and Debian; to pin the whole image, use a digest:
# --build-arg PYTHON=3.13-slim-trixie@sha256:… . Slim instead of Alpine: the tests run with wheels for glibc.
ARG PYTHON=3.13-slim-trixie

FROM python:${PYTHON} AS wheel
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
COPY deploy/build.lock deploy/
RUN pip install --only-binary :all: --require-hashes --requirement deploy/build.lock
COPY LICENSE README.md pyproject.toml ./
COPY scripts scripts/
COPY docs docs/
COPY src src/
# This also builds the handbook from docs/, which is part of the wheel.
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /wheels .

FROM python:${PYTHON} AS install
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /install
RUN python -m venv --without-pip /opt/openzim-mcp
COPY deploy/runtime.lock ./
RUN pip --python /opt/openzim-mcp install --only-binary :all: --require-hashes --requirement runtime.lock
COPY --from=wheel /wheels /wheels
# Without an index, a package that is missing in the lock fails the build. There is one wheel, so it needs no version:
# hadolint ignore=DL3013
RUN pip --python /opt/openzim-mcp install --no-index --find-links /wheels "openzim-mcp[cluster,telemetry]"

FROM python:${PYTHON}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL io.modelcontextprotocol.server.name="io.github.openzim-mcp/openzim-mcp" \
      org.opencontainers.image.title="OpenZIM MCP" \
      org.opencontainers.image.description="Offline knowledge for language models: ZIM archives over the Model Context Protocol" \
      org.opencontainers.image.licenses="GPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# A new volume gets the owner of /data, so that `download` can write into it.
RUN install --directory --owner=10001 --group=10001 /data
COPY --from=install /opt/openzim-mcp /opt/openzim-mcp
# Only results of verifications are written, below /tmp; on a read-only root without a tmpfs there, not even those.
ENV PATH="/opt/openzim-mcp/bin:${PATH}" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/tmp/cache \
    OPENZIM_MCP_ALLOWED_DIRECTORIES=/data \
    OPENZIM_MCP_HOST=0.0.0.0
WORKDIR /data
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["openzim-mcp", "probe"]
ENTRYPOINT ["openzim-mcp"]
