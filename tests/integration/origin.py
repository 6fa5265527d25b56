# SPDX-License-Identifier: MIT
"""Servers on the loopback device for clients in a sandbox. Usage: origin.py DIR, which has

    www/                what is served over HTTP and HTTPS
    cert.pem, key.pem   for HTTPS

Writes DIR/ports ("HTTP HTTPS ECHO") when all of them listen. ECHO greets as an SSH server does and
sends back what it gets. Ends by itself after three minutes."""
import functools
import http.server
import os
import socketserver
import ssl
import sys
import threading
import time


class Pages(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"SSH-2.0-koda_test\r\n")
        while data := self.request.recv(4096):
            self.wfile.write(data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *args):
        pass  # a client that goes away


def serve(handler, context=None):
    server = Server(("127.0.0.1", 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return str(server.server_address[1])


def main(base):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(base + "/cert.pem", base + "/key.pem")
    pages = functools.partial(Pages, directory=base + "/www")
    ports = [serve(pages), serve(pages, context), serve(Echo)]
    with open(base + "/ports.new", "w", encoding="ascii") as file:
        print(*ports, file=file)
    os.rename(base + "/ports.new", base + "/ports")
    time.sleep(180)


main(sys.argv[1])
