# docs/production/container/README.md says how to build and run it.

# By its digest, which Dependabot updates: a tag can be moved. Any version that "engines" in package.json allows.
FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS base

FROM base AS build
WORKDIR /source
ENV CI=true
# The packages are installed again only if they change. The secret `npmrc` is for a registry of your own.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.mjs ./
COPY contract/package.json contract/
COPY prisma/package.json prisma/
COPY server/package.json server/
COPY scripts/pnpm.mjs scripts/run.mjs scripts/tools.mjs scripts/
COPY scripts/pnpm/ scripts/pnpm/
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc node scripts/pnpm.mjs install --frozen-lockfile
COPY . .
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm run deploy -- /app

FROM base
COPY --from=build /app /app
# A new volume inherits the owner and the rights of the folder.
RUN ln -s /app/dist/main.js /usr/local/bin/plant-store && install -d -o 1000 -g 1000 -m 700 /data
# The admin port is for the health check. SQLite writes its temporary files next to the database, since the root file
# system may be read-only. A shutdown ends within the ten seconds that Docker waits before it kills.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    ADMIN_PORT=3001 \
    DATABASE_URL=file:/data/plant-store.db \
    SQLITE_TMPDIR=/data \
    SHUTDOWN_TIMEOUT=8s
WORKDIR /data
# The user `node`, as a number, so that a cluster can see that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
# The migration of a large database takes minutes.
HEALTHCHECK --interval=10s --timeout=10s --start-period=10m --retries=3 CMD ["plant-store", "ready"]
# Without a shell: Node.js is the first process and gets the signals.
ENTRYPOINT ["plant-store"]
CMD ["serve"]

# Last, so that a new value does not invalidate the steps above.
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Plant Store" \
      org.opencontainers.image.description="A plant service over SQLite or PostgreSQL." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
