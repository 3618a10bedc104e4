// Runs one study from beginning to end, as a client without any of Coppice's code or a .proto: health,
// reflection, a study, an offer with a verified manifest, a report sent twice, a model, a prediction.
//
// node_client.sh runs it, with COPPICE_SERVER, COPPICE_CA and NODE_PATH set.

'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const {messageBytes, openEnvelope, sealReports} = require('./sealed.js');

const STUDY = 'studies/from-node';
const LEAF = 'SPLIT_KIND_LEAF';
const ACCEPTED = 1, DUPLICATE = 2;  // of ReportOutcome
const OPTIONS = {keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true};
const DEADLINE_MS = 300_000; // per call; test machines are slow and busy

// The fields in use of grpc/reflection/v1alpha/reflection.proto and grpc/health/v1/health.proto. (An enum
// is an int32 on the wire.)
const BOOTSTRAP = loader.fromJSON({nested: {grpc: {nested: {
  reflection: {nested: {v1alpha: {nested: {
    ServerReflection: {methods: {ServerReflectionInfo: {
      requestType: 'Request', requestStream: true, responseType: 'Response', responseStream: true}}},
    Request: {oneofs: {question: {oneof: ['file_containing_symbol', 'list_services']}}, fields: {
      file_containing_symbol: {type: 'string', id: 4}, list_services: {type: 'string', id: 7}}},
    Response: {fields: {file_descriptor_response: {type: 'Files', id: 4},
      list_services_response: {type: 'Services', id: 6}, error_response: {type: 'Problem', id: 7}}},
    Files: {fields: {file_descriptor_proto: {rule: 'repeated', type: 'bytes', id: 1}}},
    Services: {fields: {service: {rule: 'repeated', type: 'ServiceName', id: 1}}},
    ServiceName: {fields: {name: {type: 'string', id: 1}}},
    Problem: {fields: {error_code: {type: 'int32', id: 1}, error_message: {type: 'string', id: 2}}},
  }}}},
  health: {nested: {v1: {nested: {
    Health: {methods: {Check: {requestType: 'CheckRequest', responseType: 'CheckResponse'}}},
    CheckRequest: {fields: {service: {type: 'string', id: 1}}},
    CheckResponse: {fields: {status: {type: 'int32', id: 1}}},
  }}}},
}}}}, OPTIONS);

const server = process.env.COPPICE_SERVER;
const credentials = grpc.credentials.createSsl(fs.readFileSync(process.env.COPPICE_CA));
const deadline = () => ({deadline: Date.now() + DEADLINE_MS});
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part),
  crypto.createHash('sha256')).digest();

// Makes a client of a service, whose unary methods return promises.
function connect(definition, service) {
  const client = new (grpc.makeGenericClientConstructor(definition[service], service))(
    server, credentials, {'grpc.ssl_target_name_override': 'localhost'});  // an address is not a name
  client.ask = (method, request) => new Promise((resolve, reject) => {
    client[method](request, deadline(), (error, response) => error ? reject(error) : resolve(response));
  });
  return client;
}

function reflect(question) {
  const client = connect(BOOTSTRAP, 'grpc.reflection.v1alpha.ServerReflection');
  return new Promise((resolve, reject) => {
    const call = client.ServerReflectionInfo(deadline());
    call.on('data', response => {
      call.end();
      if (response.error_response) reject(new Error(response.error_response.error_message));
      else resolve(response);
    });
    call.on('error', reject);
    call.on('end', () => client.close());
    call.write(question);
  });
}

// Asks reflection about some services, and returns one package definition.
async function learn(services) {
  const files = new Map();
  for (const service of services) {
    const response = await reflect({file_containing_symbol: service});
    for (const file of response.file_descriptor_response.file_descriptor_proto) {
      files.set(file.toString('latin1'), file);
    }
  }
  // A FileDescriptorSet holds its files, each as field 1 after its length.
  const parts = [];
  for (const file of files.values()) parts.push(Buffer.from([0x0a]), varint(file.length), file);
  return loader.loadFileDescriptorSetFromBuffer(Buffer.concat(parts), OPTIONS);
}

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  bytes.push(value);
  return Buffer.from(bytes);
}

function sampleStudy() {
  const values = Array.from({length: 64}, (_, i) => 10 * i / 63);
  return {
    request_id: 'create-from-node', study_id: 'from-node',
    schema: {features: [{name: 'x', numeric: {min: 0, max: 10}}], label: 'answer',
      classes: ['no', 'yes']},
    public_rows: values.map(value => ({values: [value]})),
    public_labels: values.map(value => value > 5 ? 1 : 0),
    partition: {rule: 'SPLIT_RULE_CART', criterion: 'CRITERION_GINI', max_depth: 2, min_leaf: 1,
      trees: 1, seed: 1},
    epsilon_nanos: 2e9, mechanism: 'MECHANISM_OPTIMIZED_UNARY', settings: {min_reports: 1},
  };
}

// Checks that the curator's key signed what the offer says, by docs/protocol.md#manifest.
function checkManifest(offer) {
  const {manifest, signature, key} = offer.manifest;
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key]); // RFC 8410
  const publicKey = crypto.createPublicKey({key: spki, format: 'der', type: 'spki'});
  const signed = Buffer.concat([Buffer.from('coppice.v1.manifest\0'), manifest]);
  assert(crypto.verify(null, signed, publicKey, signature), 'the manifest is not signed by its key');
  assert(manifest.includes(offer.fingerprint), 'the manifest is of other terms');
}

// Counts the cells (leaf, class) of the offer's one tree, after checking the fingerprint of the terms and
// their root.
function checkedCells(definition, offer) {
  assert.deepStrictEqual(sha256(offer.terms), offer.fingerprint, 'terms and fingerprint differ');
  const terms = definition['coppice.v1.Terms'].deserialize(offer.terms);
  const bytes = openEnvelope(offer.tree);
  assert.deepStrictEqual(sha256(Buffer.from([0]), bytes), terms.forest_root,
    'the tree is not the one that the terms stand for');
  const tree = definition['coppice.v1.Tree'].deserialize(bytes);
  return tree.kinds.filter(kind => kind === LEAF).length * terms.schema.classes.length;
}

// A report of optimized_unary with one bit set. (Not private: a device with a row must randomize.)
function unaryReport(cells, ticket) {
  const payload = Buffer.alloc(Math.ceil(cells / 8));
  const cell = crypto.randomInt(cells);
  payload[Math.floor(cell / 8)] |= 1 << cell % 8;
  return {ticket, payload};
}

async function checkRefused(call, code, what) {
  const error = await call.then(() => null, error => error);
  assert.strictEqual(error && error.code, code, `${what}: ${error}`);
}

async function main() {
  const health = connect(BOOTSTRAP, 'grpc.health.v1.Health');
  assert.strictEqual((await health.ask('Check', {})).status, 1, 'not SERVING');

  const names = ['StudyService', 'ReportService', 'ModelService'].map(name => `coppice.v1.${name}`);
  const listed = (await reflect({list_services: '*'})).list_services_response.service;
  for (const name of names) assert(listed.some(service => service.name === name), name);
  const definition = await learn(names);
  const [studies, reports, models] = names.map(name => connect(definition, name));

  const created = await studies.ask('CreateStudy', sampleStudy());
  assert.strictEqual(created.study.name, STUDY);
  await checkRefused(models.ask('BuildModel', {study: STUDY, model_id: 'from-node', prune: {}}),
    grpc.status.FAILED_PRECONDITION, 'a model below the minimum of reports');

  const offer = await studies.ask('GetOffer', {name: STUDY, tickets: 1});
  checkManifest(offer);
  const report = unaryReport(checkedCells(definition, offer), offer.tickets[0]);
  const batch = {study: STUDY, fingerprint: offer.fingerprint, reports: [report]};
  const keys = await studies.ask('GetCuratorKeys', {});
  const manifest = definition['coppice.v1.Manifest'].deserialize(offer.manifest.manifest);
  const bytes = messageBytes(STUDY.slice('studies/'.length), manifest.report_bytes, 1);
  for (const outcome of [ACCEPTED, DUPLICATE]) {
    const sealed = sealReports(keys.direct_suite, keys.direct_key,
      definition['coppice.v1.SealedReports'].serialize(batch), bytes);
    const {keyId: key_id, encapsulated, ciphertext} = sealed;
    const answer = await reports.ask('SubmitReports', {key_id, encapsulated, ciphertext});
    assert.deepStrictEqual(sealed.open(answer.sealed_outcomes), [outcome]);
  }

  const {model} = await models.ask('BuildModel',
    {study: STUDY, model_id: 'from-node', prune: {}});
  assert.strictEqual(model.certificate.reports, 1);
  const answer = await models.ask('Predict',
    {name: model.name, rows: [{values: [1]}, {values: [9]}]});
  assert.deepStrictEqual(answer.classes, ['no', 'yes']);
  assert.strictEqual(answer.predictions.length, 2);
  for (const {probabilities} of answer.predictions) {
    assert(Math.abs(probabilities.reduce((sum, p) => sum + p, 0) - 1) < 1e-9, `${probabilities}`);
  }

  await studies.ask('DeleteStudy', {name: STUDY});
  await checkRefused(studies.ask('GetStudy', {name: STUDY}), grpc.status.NOT_FOUND,
    'a study that was deleted');
  for (const client of [health, studies, reports, models]) client.close();
  console.log('@grpc/grpc-js: a study from beginning to end');
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
