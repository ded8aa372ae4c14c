FROM python:3.11-slim

WORKDIR /opt/psychemme
COPY requirements/uv.txt requirements/team.txt requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/uv.txt \
 && uv pip install --system --no-cache --require-hashes -r requirements/team.txt

COPY pyproject.toml README.md LICENSE ./
COPY construction construction
COPY evaluation evaluation
COPY prompts prompts
COPY psychemme psychemme
COPY psychology_kb psychology_kb
COPY state state
# Files of secrets and mounted folders keep their owner: UID is whoever owns them.
ARG UID=1000
RUN uv pip install --system --no-cache --no-deps --no-build-isolation . \
 && useradd --uid ${UID} --create-home curator \
 && install --directory --owner curator /workspace

USER curator
WORKDIR /workspace
VOLUME /workspace
ENTRYPOINT ["psychemme"]
