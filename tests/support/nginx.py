"""Run nginx and Caddy with the files of deploy/, adapted to this machine."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
NGINX_CONFIG = """\
daemon off;
master_process off;
pid {tmp}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {tmp}/body;
    proxy_temp_path {tmp}/proxy;
    fastcgi_temp_path {tmp}/fastcgi;
    uwsgi_temp_path {tmp}/uwsgi;
    scgi_temp_path {tmp}/scgi;
    include {tmp}/site.conf;
}}
"""


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def adapt_config(name: str, replacements: dict[str, str]) -> str:
    """Return a file of deploy/ with the names and addresses of this machine."""
    text = (DEPLOY / name).read_text(encoding="utf-8")
    for original, replacement in replacements.items():
        assert original in text
        text = text.replace(original, replacement)
    return text
