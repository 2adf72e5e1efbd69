"""A web application that answers with the length of what it got."""


def application(environ, start_response):
    """Read the stated length, as Django does."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    answer = f"{len(body)} bytes".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
    return [answer]
