# Build: docker build -t innodb-advisor .        (or buildah bud; --build-arg BASE=… for another image with Python ≥ 3.11 and venv)
# Run:   docker run -p 9747:9747 -e INNODB_ADVISOR_DSN=mysql://user@host:3306 -e INNODB_ADVISOR_PASSWORD innodb-advisor
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
# Two environments: one with pip and hatchling, which stays behind, and one without, which goes into the image.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/innodb-advisor
COPY requirements/build.txt requirements/runtime.txt requirements/
# Wheels only: no compiler is needed, and no code of a dependency runs while the image is built.
RUN /build/bin/pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements/build.txt \
 && /build/bin/pip --python /opt/innodb-advisor/bin/python install --no-cache-dir --only-binary :all: \
        --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md ./
COPY exporter exporter
COPY advisor advisor
COPY rules rules
RUN /build/bin/pip wheel --no-cache-dir --no-index --no-deps --no-build-isolation --wheel-dir /build/dist . \
 && /build/bin/pip --python /opt/innodb-advisor/bin/python install --no-cache-dir --no-index --no-deps /build/dist/*.whl \
 && /build/bin/pip --python /opt/innodb-advisor/bin/python check

FROM ${BASE}
LABEL org.opencontainers.image.title="innodb-advisor" \
      org.opencontainers.image.description="Shows what InnoDB's LRU, change buffer, parallel readers and index builds do, and says which setting to change"
# The official Python images bring pip along; nothing here needs it.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip /usr/local/lib/python3*/site-packages/pip*
COPY --from=build /opt/innodb-advisor /opt/innodb-advisor
ENV PATH=/opt/innodb-advisor/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /
EXPOSE 9747
ENTRYPOINT ["innodb-advisor"]
CMD ["serve", "--listen", ":9747"]
