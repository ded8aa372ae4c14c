"""The review page: served by FastAPI, rendered on the server, without a build step."""
