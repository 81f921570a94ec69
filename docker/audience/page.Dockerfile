# The audience's page: the relay's own player, bundled when the image is built, and served as files.
ARG NODE_IMAGE=node:22-slim
ARG NGINX_IMAGE=nginx:1.28
FROM ${NODE_IMAGE} AS build
WORKDIR /page
COPY page/package.json page/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund && node node_modules/esbuild/install.js
COPY page/ ./
RUN npm run build

FROM ${NGINX_IMAGE}
COPY --from=build /page/dist /duet/page
