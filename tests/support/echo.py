"""A web application that answers with the length of what it got."""


def application(environ, start_response):
    """Read the stated length, as Django does; /headers: what a proxy says."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    said = [environ.get(f"HTTP_X_FORWARDED_{name}", "none") for name in ("FOR", "PROTO")]
    words = " ".join(said) if environ["PATH_INFO"] == "/headers" else f"{len(body)} bytes"
    answer = words.encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
    return [answer]
