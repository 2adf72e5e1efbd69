# The web process. It has no model library; models run in the workers (gpu-worker.Dockerfile).
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 OCCURRENT_ENV=production OCCURRENT_VAR=/var/lib/occurrent WEB_HOST=0.0.0.0
RUN useradd --create-home --uid 1000 occurrent && install --directory --owner occurrent /var/lib/occurrent
WORKDIR /app

COPY requirements/web.txt requirements/
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement requirements/web.txt

COPY . .
# collectstatic needs these settings but not their values, which exist only in this command.
RUN SECRET_KEY=only-for-collecting-static-files-here ALLOWED_HOSTS=localhost python manage.py collectstatic --noinput

USER 1000
EXPOSE 8000
CMD ["gunicorn", "--config", "python:config.gunicorn", "config.wsgi"]
