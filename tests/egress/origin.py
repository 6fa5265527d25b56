# SPDX-License-Identifier: MIT
"""An origin for tests that reads no bodies: what follows a head is its next request. Notes each request.
Arguments: LOG [CERT KEY]. Its port is the first line of its output."""
import http.server
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        path = "/" + self.path.split("://")[-1].split("/", 1)[1]
        with open(sys.argv[1], "a", encoding="ascii") as log:
            log.write(f"{self.command} {self.headers['Host']} {path} \n")
        text = f"answer to {path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
