# Build: make image      (or: docker build -t innodb-advisor . , with BuildKit; --build-arg BASE=… for another Debian with
#                         Python ≥ 3.11 and venv, VERSION=… for the label)
# Run:   docker run -p 9747:9747 --read-only -e INNODB_ADVISOR_DSN=mysql://user@host:3306 -e INNODB_ADVISOR_PASSWORD innodb-advisor
ARG BASE=python:3.13-slim

# Dependencies change rarely, so they are a separate layer.
FROM ${BASE} AS dependencies
WORKDIR /src
# Two environments: a build environment with pip and hatchling, and one without them for the image.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/innodb-advisor
COPY requirements/build.txt requirements/runtime.txt requirements/
# Wheels only: the build needs no compiler and runs no code of a dependency. Secrets hold the settings of the package
# index; no layer keeps them.
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    export PIP_CONFIG_FILE=/run/secrets/pip.conf PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
 && /build/bin/pip install -q --only-binary :all: --require-hashes -r requirements/build.txt \
 && /build/bin/pip --python /opt/innodb-advisor/bin/python install -q --no-compile --only-binary :all: \
        --require-hashes -r requirements/runtime.txt
# Remove unused files: CEL's extensions (37 MB) and stray files in its wheel (16 MB), ReDoc, tests, stubs.
# Unchecked byte code stays valid if the files' times change.
RUN cd /opt/innodb-advisor/lib/python3*/site-packages \
 && rm -rf cel_expr_python/ext bazel-project docs examples certifi/tests fastapi_offline/static/redoc* \
 && find . -name '*.pyi' -delete \
 && python3 -m compileall -q -f --invalidation-mode unchecked-hash .

FROM dependencies AS build
COPY pyproject.toml README.md LICENSE ./
COPY exporter exporter
COPY advisor advisor
COPY rules rules
COPY docs/proofs.md docs/alerting.md docs/
COPY docs/man docs/man
# Without an index pip rejects the wheel if a dependency is missing above.
RUN export PIP_NO_CACHE_DIR=1 PIP_NO_INDEX=1 \
 && /build/bin/pip wheel -q --no-deps --no-build-isolation --wheel-dir /build/dist . \
 && /build/bin/pip --python /opt/innodb-advisor/bin/python install -q --no-compile --no-warn-script-location \
        --root /image /build/dist/*.whl \
 && python3 -m compileall -q -f --invalidation-mode unchecked-hash -s /image -p / /image

FROM ${BASE}
# Base images contain pip, and Python's library without byte code. A read-only file system cannot cache byte code.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/site-packages/pip* /usr/local/lib/python3*/site-packages/setuptools* \
        /usr/local/lib/python3*/site-packages/wheel* /usr/local/lib/python3*/site-packages/pkg_resources \
        /usr/local/lib/python3*/ensurepip /usr/lib/python3*/ensurepip /usr/share/python-wheels \
 && python3 -m compileall -q -x '/(test|tests|idlelib|tkinter|turtledemo|lib2to3|site-packages)/' \
        "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=dependencies /opt/innodb-advisor /opt/innodb-advisor
COPY --from=build /image/ /
ENV PATH=/opt/innodb-advisor/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /
EXPOSE 9747
ENTRYPOINT ["innodb-advisor"]
CMD ["serve", "--listen", ":9747"]
ARG VERSION
LABEL org.opencontainers.image.title="innodb-advisor" \
      org.opencontainers.image.description="Shows what InnoDB's LRU list, change buffer, parallel readers and index builds do, and advises which settings to change" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
