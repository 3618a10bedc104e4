// Answers that no honest daemon sends, put between the console and the real one.

'use strict';

const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {createFileRegistry, fromBinary, fromJson, toBinary} = require('@bufbuild/protobuf');
const {FileDescriptorSetSchema} = require('@bufbuild/protobuf/wkt');
const {ROOT} = require('./daemon');

let registry;

/** The messages of proto/. */
function types() {
  if (registry === undefined) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'coppice-protos-')), file = path.join(folder, 'descriptors');
    const proto = path.join(ROOT, 'proto'), sources = fs.readdirSync(path.join(proto, 'coppice/v1')).map(name => path.join(proto, 'coppice/v1', name));
    execFileSync('protoc', ['--include_imports', `--descriptor_set_out=${file}`, '-I', proto, ...sources.filter(name => name.endsWith('.proto'))]);
    registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, fs.readFileSync(file)));
    fs.rmSync(folder, {recursive: true});
  }
  return registry;
}

const messageOf = name => types().getMessage(`coppice.v1.${name}`);

/** Answers calls of METHOD ("DatasetService/GetDataset") by `answer`, which has the request and gives the answer, as JSON. */
async function answerCalls(page, method, answer) {
  const name = method.split('/')[1];
  await page.route(`**/coppice.v1.${method}`, async route => {
    const request = fromBinary(messageOf(`${name}Request`), route.request().postDataBuffer() ?? Buffer.alloc(0));
    const message = fromJson(messageOf(`${name}Response`), await answer(request, route));
    await route.fulfill({status: 200, contentType: 'application/proto', body: Buffer.from(toBinary(messageOf(`${name}Response`), message))});
  });
}

/** Lets the real daemon answer METHOD, and `change` the answer, a message. */
async function changeAnswers(page, daemon, method, change) {
  const schema = messageOf(`${method.split('/')[1]}Response`);
  await page.route(`**/coppice.v1.${method}`, async route => {
    const {host, 'content-length': _, ...headers} = route.request().headers();
    const response = await daemon.send('POST', `/coppice.v1.${method}`, {...headers, 'accept-encoding': 'identity', origin: daemon.origin},
      route.request().postDataBuffer() ?? '');
    const answer = {status: response.status, contentType: response.headers['content-type'], body: response.body};
    if (response.status === 200) {
      const message = fromBinary(schema, response.body);
      change(message);
      answer.body = Buffer.from(toBinary(schema, message));
    }
    await route.fulfill(answer);
  });
}

module.exports = {answerCalls, changeAnswers};
