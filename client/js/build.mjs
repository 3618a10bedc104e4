// Builds the package: node build.mjs --module FILE.wasm --checks FILE.wasm --out DIR
//
// --module FILE  the WebAssembly module, which goes into the bundle, since an integrity hash covers no import.
// --checks FILE  the module for the vectors, which goes beside the package with the functions that it imports.
// --out DIR      gets package.json, LICENSES.txt, the sample page and dist/. Replaces what is there.

import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import zlib from 'node:zlib';
import esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const MOST_COMPRESSED_BYTES = 400_000; // of what a page loads

function flag(name) {
  const at = process.argv.indexOf(name);
  if (at < 0) throw new Error(`build.mjs: ${name} is missing`);
  return path.resolve(process.argv[at + 1]);
}

const modulePlugin = file => ({
  name: 'module',
  setup(build) {
    build.onResolve({filter: /^coppice-device-module$/}, () => ({path: file, namespace: 'module'}));
    build.onLoad({filter: /.*/, namespace: 'module'}, () => ({contents: fs.readFileSync(file).toString('base64'), loader: 'text'}));
  },
});

const bundling = {
  absWorkingDir: here,
  bundle: true,
  format: 'esm',
  minify: true,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  external: ['node:*'],
  target: ['es2022'],
  legalComments: 'none',
  logLevel: 'warning',
};

// The licences of what is in the bundle; they must be passed on with it.
function licenses() {
  const noble = ['ciphers', 'curves', 'hashes'].map(name => {
    const folder = path.join(here, 'node_modules/@noble', name);
    const {version} = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return `@noble/${name} ${version}\n\n${fs.readFileSync(path.join(folder, 'LICENSE'), 'utf8').trim()}\n`;
  });
  const notes = "Abseil (its headers), LLVM's C++ library and musl are compiled into the module: Apache-2.0 (Abseil), Apache-2.0 with LLVM's exception, MIT.\n";
  return [...noble, notes, fs.readFileSync(path.join(root, 'LICENSE'), 'utf8')].join(`\n${'-'.repeat(80)}\n\n`);
}

const out = flag('--out');
fs.rmSync(out, {recursive: true, force: true});
fs.mkdirSync(path.join(out, 'dist'), {recursive: true});
const plugins = [modulePlugin(flag('--module'))];
await esbuild.build({...bundling, plugins, entryPoints: ['src/index.ts'], outfile: path.join(out, 'dist/coppice-device.js')});
await esbuild.build({...bundling, entryPoints: ['src/node.ts'], outfile: path.join(out, 'dist/node.js')});
// For tests/js/vectors_test.js; package.json's files leave it out of what is published.
await esbuild.build({...bundling, entryPoints: ['src/crypto.ts'], outfile: path.join(out, 'test/crypto.js')});
fs.copyFileSync(flag('--checks'), path.join(out, 'test/checks.wasm'));
execFileSync(process.execPath, [path.join(here, 'node_modules/typescript/bin/tsc'), '-p', here, '--outDir', path.join(out, 'dist')], {stdio: 'inherit'});

const {devDependencies: _unused, scripts: _also, ...published} = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'));
fs.writeFileSync(path.join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
fs.writeFileSync(path.join(out, 'LICENSES.txt'), licenses());
const bundle = fs.readFileSync(path.join(out, 'dist/coppice-device.js'));
const integrity = `sha384-${createHash('sha384').update(bundle).digest('base64')}`;
fs.writeFileSync(path.join(out, 'integrity.txt'), `${integrity}\n`);
// The sample: a folder that any server of files can serve. Its page names the library by its hash.
const sample = path.join(out, 'sample');
fs.cpSync(path.join(here, 'sample'), sample, {recursive: true});
fs.copyFileSync(path.join(out, 'dist/coppice-device.js'), path.join(sample, 'coppice-device.js'));
const page = path.join(sample, 'index.html');
fs.writeFileSync(page, fs.readFileSync(page, 'utf8').replace('INTEGRITY', integrity));
const compressed = zlib.gzipSync(bundle, {level: 9}).length;
console.log(`${bundle.length} bytes, ${compressed} compressed, of at most ${MOST_COMPRESSED_BYTES}; integrity ${integrity}`);
if (compressed > MOST_COMPRESSED_BYTES) {
  console.error('build.mjs: the package is too large');
  process.exit(1);
}
