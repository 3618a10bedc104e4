// Serves the console while it is written: npm run dev -- [--daemon URL] [--port N]
//
// It bundles at each load and passes calls on to a daemon, so that pages have one origin and the daemon's
// own headers. It listens on 127.0.0.1, for this machine alone.

import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import esbuild from 'esbuild';
import {build, bundling, facts, generateClients, indexPage, licenses, securityHeaders} from './tools.mjs';

const TYPES = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8',
  '.map': 'application/json', '.svg': 'image/svg+xml', '.txt': 'text/plain; charset=utf-8'};

function handOn(request, response, daemon) {
  const {origin, host, ...headers} = request.headers;
  const secure = daemon.protocol === 'https:';
  const call = (secure ? https : http).request(new URL(request.url, daemon), {method: request.method, headers,
    // The daemon's certificate is a test one, from an authority that nobody has installed.
    ...(secure ? {rejectUnauthorized: false} : {})}, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  call.on('error', error => {
    if (!response.headersSent) response.writeHead(502, {'Content-Type': 'text/plain'});
    response.end(`no daemon at ${daemon}: ${error.message}`);
  });
  response.on('close', () => call.destroy());
  request.pipe(call);
}

export async function serve({daemon, port, files}) {
  const outdir = files ? path.resolve(files) : path.join(build, 'dev');
  let rebuild = async () => {};
  if (!files) {
    generateClients();
    fs.rmSync(outdir, {recursive: true, force: true});
    const context = await esbuild.context({...bundling, entryPoints: ['src/main.tsx'], outdir: path.join(outdir, 'assets'),
      splitting: true, sourcemap: true, define: {'process.env.NODE_ENV': '"development"', ...facts('./assets/licenses.txt')}});
    rebuild = () => context.rebuild();
    fs.mkdirSync(path.join(outdir, 'assets'), {recursive: true});
    fs.writeFileSync(path.join(outdir, 'assets/licenses.txt'), licenses());
    fs.writeFileSync(path.join(outdir, 'index.html'), indexPage('./assets/main.js', './assets/main.css'));
  }
  const answer = async (request, response) => {
    const where = new URL(request.url, 'http://console').pathname;
    if (request.method === 'POST' || where.startsWith('/coppice.v1.')) return handOn(request, response, new URL(daemon));
    if (where === '/') await rebuild();
    const name = where === '/' ? 'index.html' : path.normalize(where).slice(1);
    const file = path.join(outdir, name);
    if (!file.startsWith(outdir) || !fs.existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream', ...securityHeaders()});
    response.end(fs.readFileSync(file));
  };
  http.createServer((request, response) => answer(request, response).catch(error => {
    response.writeHead(500, {'Content-Type': 'text/plain'}).end(String(error.message));
  })).listen(port, '127.0.0.1', () => console.log(`the console of ${daemon} is at http://127.0.0.1:${port}/`));
}
