// SPDX-License-Identifier: MIT
// An origin for tests: notes each request that it was sent whole. Arguments: LOG [CERT KEY]. Its port
// is the first line of its output.
'use strict';
const fs = require('fs');
const [log, cert, key] = process.argv.slice(2);

function serve(request, response) {
	const parts = [];
	request.on('data', (part) => parts.push(part));
	request.on('end', () => {
		const { method, headers, url } = request;
		const path = url.replace(/^http:\/\/[^/]*/, '').replace(/\?.*/, '');
		const body = Buffer.concat(parts).toString('hex');
		fs.appendFileSync(log, `${method} ${headers.host} ${path} ${body}\n`);
		response.end('ok');
	});
}

const server = cert
	? require('https').createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, serve)
	: require('http').createServer(serve);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
