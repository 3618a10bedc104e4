// What the build and the development server share: paths, the clients generated from proto/, and the index
// page.

import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {fromBinary} from '@bufbuild/protobuf';
import {FileDescriptorSetSchema} from '@bufbuild/protobuf/wkt';

export const console_ = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(console_, '../..');
export const build = path.join(console_, 'build');
const generated = path.join(build, 'proto');

function filesUnder(folder) {
  return fs.readdirSync(folder, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

// What the comments in proto/ say of the values of enumerations: {"coppice.v1.JobState": {"3": "Its model exists."}}.
function meaningsIn(descriptors) {
  const ENUM = 5, VALUE = 2; // FileDescriptorProto.enum_type, EnumDescriptorProto.value
  const meanings = {};
  for (const file of fromBinary(FileDescriptorSetSchema, descriptors).file) {
    for (const {path: [kind, type, part, value], leadingComments} of file.sourceCodeInfo?.location ?? []) {
      if (kind !== ENUM || part !== VALUE || value === undefined || leadingComments === '') continue;
      const {name, value: values} = file.enumType[type];
      (meanings[`${file.package}.${name}`] ??= {})[values[value].number] = leadingComments.trim().replace(/\s+/g, ' ');
    }
  }
  return meanings;
}

function writeMeanings(descriptors) {
  const folder = path.join(generated, 'coppice/v1');
  fs.writeFileSync(path.join(folder, 'meanings.js'), `export const MEANINGS = ${JSON.stringify(meaningsIn(descriptors))};\n`);
  fs.writeFileSync(path.join(folder, 'meanings.d.ts'),
    'export declare const MEANINGS: Readonly<Record<string, Readonly<Record<number, string>>>>;\n');
}

// Runs protoc with protoc-gen-es, unless the clients there were made from the same files.
export function generateClients() {
  const protos = filesUnder(path.join(root, 'proto/coppice')).filter(name => name.endsWith('.proto'));
  const hash = createHash('sha256').update(fs.readFileSync(path.join(console_, 'package-lock.json')));
  for (const proto of protos) hash.update(proto).update(fs.readFileSync(proto));
  const stamp = hash.digest('hex'), stampFile = path.join(generated, 'stamp');
  if (fs.existsSync(stampFile) && fs.readFileSync(stampFile, 'utf8') === stamp) return;
  fs.rmSync(generated, {recursive: true, force: true});
  fs.mkdirSync(generated, {recursive: true});
  execFileSync('protoc', [
    `--plugin=protoc-gen-es=${path.join(console_, 'node_modules/.bin/protoc-gen-es')}`,
    `--es_out=${generated}`, '--es_opt=target=js+dts', '-I', path.join(root, 'proto'), ...protos,
    '--include_source_info', `--descriptor_set_out=${path.join(generated, 'descriptors')}`,
  ], {stdio: 'inherit'});
  writeMeanings(fs.readFileSync(path.join(generated, 'descriptors')));
  fs.writeFileSync(stampFile, stamp);
}

// esbuild's options in every mode.
export const bundling = {
  absWorkingDir: console_,
  bundle: true,
  format: 'esm',
  target: ['es2022', 'chrome110', 'firefox110', 'safari16'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  nodePaths: [path.join(console_, 'node_modules')],
  alias: {proto: path.join(generated, 'coppice/v1')},
  legalComments: 'none',
  logLevel: 'warning',
};

// The comment at the start of a source of protobuf: it must be passed on, and the package has no file of it.
const BSD_SOURCE = 'node_modules/@bufbuild/protobuf/dist/esm/wire/varint.js';

function licenseOf(folder, license) {
  const file = fs.readdirSync(path.join(console_, folder)).find(name => /^licen[cs]e/i.test(name));
  if (file !== undefined) return fs.readFileSync(path.join(console_, folder, file), 'utf8').trim();
  const comment = BSD_SOURCE.startsWith(`${folder}/`)
    ? fs.readFileSync(path.join(console_, BSD_SOURCE), 'utf8').match(/^(?:\/\/.*\n)+/)[0].replace(/^\/\/ ?/gm, '') : '';
  return `Licence: ${license}. The text of Apache-2.0 stands at the end.\n\n${comment}`.trim();
}

// The licences of the packages whose code browsers get; they must be passed on with it.
export function licenses() {
  const lock = JSON.parse(fs.readFileSync(path.join(console_, 'package-lock.json'), 'utf8'));
  const packages = Object.entries(lock.packages).filter(([folder, {dev}]) => folder !== '' && !dev).sort();
  const texts = packages.map(([folder, {version, license}]) => `${folder.replace(/^.*node_modules\//, '')} ${version}\n\n${licenseOf(folder, license)}\n`);
  return [...texts, fs.readFileSync(path.join(root, 'LICENSE'), 'utf8')].join(`\n${'-'.repeat(80)}\n\n`);
}

// What the shell says about itself; `file` is relative to the page.
export function facts(file) {
  const {version} = JSON.parse(fs.readFileSync(path.join(console_, 'package.json'), 'utf8'));
  return {CONSOLE_VERSION: JSON.stringify(version), CONSOLE_LICENSES: JSON.stringify(file)};
}

// The index page loads one script and one style sheet, by names relative to the page's own address.
export function indexPage(script, style) {
  return fs.readFileSync(path.join(console_, 'src/index.html'), 'utf8')
    .replace('SCRIPT', script).replace('STYLE', style);
}

// The hash of the style sheet inside the daemon's documents.
function reportStyleHash() {
  const hash = createHash('sha256');
  for (const name of ['chart.css', 'page.css']) {
    hash.update(fs.readFileSync(path.join(root, 'common/pages/style', name)));
  }
  return hash.digest('base64');
}

// The headers that the daemon sends with the console's files.
export function securityHeaders() {
  return {
    'Content-Security-Policy': ["default-src 'none'", "script-src 'self'", `style-src 'self' 'sha256-${reportStyleHash()}'`,
      "connect-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
      "require-trusted-types-for 'script'", 'trusted-types coppice'].join('; '),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}
