# A worker that loads embedder and reranker in process, and calls language models over HTTP (their servers run in other environments).
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 OCCURRENT_ENV=production OCCURRENT_VAR=/var/lib/occurrent HF_HUB_OFFLINE=1
# A volume gets the owner of the folder on which it is first mounted.
RUN useradd --create-home --uid 1000 occurrent && \
    install --directory --owner occurrent /var/lib/occurrent /home/occurrent/.cache /home/occurrent/.cache/huggingface
WORKDIR /app

# PyTorch first and separately: the package index chooses the build for the machine (docs/adr/0002-locked-requirements.md).
RUN pip install --no-cache-dir torch==2.13.0
COPY requirements/web.txt requirements/models.txt requirements/
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement requirements/web.txt --requirement requirements/models.txt

COPY . .
USER 1000
# Threads, because CUDA does not survive a fork.
CMD ["python", "-m", "config.services.worker", "--pool", "threads", "--concurrency", "4", "--queues", "pipeline,generate,embed,judge"]
