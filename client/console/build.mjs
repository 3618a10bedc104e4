// Builds the console: node build.mjs [--out DIR] | --dev [...] | --generate | --tests
//
// --out DIR    where index.html and assets/ go; default: build/dist. Replaces what is there.
//   --generate   makes the clients from proto/ and stops, for tsc.
//   --tests      runs the unit tests, src/**/*.test.ts.
//   --dev        serves a build that follows the sources: see dev.mjs.

import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import esbuild from 'esbuild';
import {build, bundling, console_, facts, generateClients, indexPage, licenses} from './tools.mjs';

const MOST_COMPRESSED_BYTES = 300_000; // for all files together: nobody opens a console that loads slowly

function flag(name, fallback) {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : process.argv[at + 1];
}

// Writes `bytes` and, next to it, a gzip copy for clients that accept it. Returns the copy's size.
function writeWithGzip(file, bytes) {
  const compressed = zlib.gzipSync(bytes, {level: 9});
  fs.mkdirSync(path.dirname(file), {recursive: true});
  fs.writeFileSync(file, bytes);
  fs.writeFileSync(`${file}.gz`, compressed);
  return compressed.length;
}

async function buildFiles(out) {
  generateClients();
  const texts = Buffer.from(licenses());
  const textsName = `assets/licenses-${createHash('sha256').update(texts).digest('hex').slice(0, 8).toUpperCase()}.txt`;
  const result = await esbuild.build({
    ...bundling,
    entryPoints: ['src/main.tsx'],
    outdir: path.join(out, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    minify: true,
    write: false,
    define: facts(`./${textsName}`),
  });
  const files = result.outputFiles.map(file => [path.relative(out, file.path), Buffer.from(file.contents)]);
  const named = ending => `./${files.find(([name]) => name.startsWith('assets/main-') && name.endsWith(ending))[0]}`;
  files.push([textsName, texts]);
  files.push(['index.html', Buffer.from(indexPage(named('.js'), named('.css')))]);
  fs.rmSync(out, {recursive: true, force: true});
  let total = 0;
  for (const [name, bytes] of files.sort((a, b) => b[1].length - a[1].length)) {
    const compressed = writeWithGzip(path.join(out, name), bytes);
    total += compressed;
    console.log(`${String(bytes.length).padStart(9)} ${String(compressed).padStart(8)}  ${name}`);
  }
  console.log(`${' '.repeat(9)} ${String(total).padStart(8)}  all, compressed; ${MOST_COMPRESSED_BYTES} are the most`);
  if (total > MOST_COMPRESSED_BYTES) {
    console.error('build.mjs: the console is too large: load what is large on demand, or leave it out');
    process.exit(1);
  }
}

async function runTests() {
  generateClients();
  const tests = fs.readdirSync(path.join(console_, 'src'), {recursive: true})
    .filter(name => name.endsWith('.test.ts')).map(name => path.join('src', name));
  const outdir = path.join(build, 'tests');
  fs.rmSync(outdir, {recursive: true, force: true});
  await esbuild.build({...bundling, entryPoints: tests, outdir, outExtension: {'.js': '.mjs'}, platform: 'node',
    target: 'node18', sourcemap: 'inline'});
  const made = fs.readdirSync(outdir, {recursive: true}).filter(name => name.endsWith('.test.mjs'))
    .map(name => path.join(outdir, name));
  process.exit(spawnSync(process.execPath, ['--enable-source-maps', '--test', ...made], {stdio: 'inherit'}).status ?? 1);
}

if (process.argv.includes('--generate')) {
  generateClients();
} else if (process.argv.includes('--tests')) {
  await runTests();
} else if (process.argv.includes('--dev')) {
  const {serve} = await import('./dev.mjs');
  await serve({daemon: flag('--daemon', 'http://127.0.0.1:8080'), port: Number(flag('--port', '8081')), files: flag('--files', null)});
} else {
  await buildFiles(path.resolve(flag('--out', path.join(build, 'dist'))));
}
