FROM python:3.13-slim AS frontend
WORKDIR /srv/frontend
COPY requirements-build.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements-build.txt
COPY frontend frontend
COPY scripts/frontend scripts/frontend
RUN mkdir static && scripts/frontend

FROM python:3.13-slim

# pg_dump and pg_restore, of the same version as docker-compose.yml's Postgres: scripts/backup needs them.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/*

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 LABHUB_STATE_DIR=/srv/labhub/state
WORKDIR /srv/labhub
COPY requirements-server.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements-server.txt

COPY manage.py ./
COPY labhub_voice labhub_voice
COPY labs labs
COPY static static
COPY --from=frontend /srv/frontend/static/build static/build
COPY templates templates
COPY scripts scripts
# Demo mode only lends these two their settings; nothing of it stays in the image.
RUN python -m scripts.catalogs compile && LABHUB_DEMO=1 python manage.py collectstatic --noinput

RUN useradd --system --uid 10001 labhub && chown labhub state
USER labhub
EXPOSE 8000
CMD ["daphne", "-b", "0.0.0.0", "-p", "8000", "labhub_voice.asgi:application"]
