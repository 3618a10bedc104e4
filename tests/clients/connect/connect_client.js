// Runs one study over HTTP/1.1, with @connectrpc/connect-node and @connectrpc/connect-web, as JSON and as
// protobuf: an offer, a report sent twice, a model, a prediction, a watched job, and errors.
//
// connect_client.sh runs it, with COPPICE_HTTP, COPPICE_CA, DESCRIPTORS and NODE_PATH set.

'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const {create, createFileRegistry, fromBinary, toBinary} = require('@bufbuild/protobuf');
const {FileDescriptorSetSchema} = require('@bufbuild/protobuf/wkt');
const {Code, ConnectError, createClient} = require('@connectrpc/connect');
const node = require('@connectrpc/connect-node');
const web = require('@connectrpc/connect-web');
const {messageBytes, openEnvelope, sealReports} = require('../sealed.js');

const TIMEOUT_MS = 30000; // per call; test machines are busy

const types = createFileRegistry(fromBinary(FileDescriptorSetSchema, fs.readFileSync(process.env.DESCRIPTORS)));
const numberOf = (type, name) => types.getEnum(`coppice.v1.${type}`).values.find(value => value.name === name).number;
const LEAF = numberOf('SplitKind', 'SPLIT_KIND_LEAF');
const ACCEPTED = numberOf('ReportOutcome', 'REPORT_OUTCOME_ACCEPTED');
const DUPLICATE = numberOf('ReportOutcome', 'REPORT_OUTCOME_DUPLICATE');
const JOB_DONE = numberOf('JobState', 'JOB_STATE_DONE');
const baseUrl = `https://localhost:${process.env.COPPICE_HTTP.split(':').pop()}`;
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), crypto.createHash('sha256')).digest();

function transports() {
  const nodeOptions = {ca: fs.readFileSync(process.env.COPPICE_CA)};
  const all = [];
  for (const useBinaryFormat of [false, true]) {
    const encoding = useBinaryFormat ? 'proto' : 'json';
    all.push({id: `node-${encoding}`, transport: node.createConnectTransport(
      {baseUrl, httpVersion: '1.1', useBinaryFormat, nodeOptions, defaultTimeoutMs: TIMEOUT_MS})});
    // Node's fetch() takes the authority from NODE_EXTRA_CA_CERTS.
    all.push({id: `web-${encoding}`, transport: web.createConnectTransport(
      {baseUrl, useBinaryFormat, defaultTimeoutMs: TIMEOUT_MS})});
  }
  return all;
}

function sampleStudy(id) {
  const values = Array.from({length: 64}, (_, i) => 10 * i / 63);
  return {
    requestId: `create-${id}`, studyId: id,
    schema: {features: [{name: 'x', type: {case: 'numeric', value: {min: 0, max: 10}}}],
      label: 'answer', classes: ['no', 'yes']},
    publicRows: values.map(value => ({values: [value]})),
    publicLabels: values.map(value => value > 5 ? 1 : 0),
    partition: {rule: numberOf('SplitRule', 'SPLIT_RULE_CART'), criterion: numberOf('Criterion', 'CRITERION_GINI'), maxDepth: 2, minLeaf: 1, trees: 1, seed: 1n},
    epsilonNanos: 2000000000n, how: {case: 'mechanism', value: numberOf('Mechanism', 'MECHANISM_OPTIMIZED_UNARY')}, settings: {minReports: 1n},
  };
}

// Counts the cells (leaf, class) of the offer's one tree, after checking the terms' fingerprint and root.
function checkedCells(offer) {
  assert.deepStrictEqual(sha256(offer.terms), Buffer.from(offer.fingerprint), 'terms and fingerprint differ');
  const terms = fromBinary(types.getMessage('coppice.v1.Terms'), offer.terms);
  const bytes = openEnvelope(offer.tree);
  assert.deepStrictEqual(sha256(Buffer.from([0]), bytes), Buffer.from(terms.forestRoot),
    'the tree is not the one that the terms stand for');
  const tree = fromBinary(types.getMessage('coppice.v1.Tree'), bytes);
  return tree.kinds.filter(kind => kind === LEAF).length * terms.schema.classes.length;
}

async function checkRefused(call, code, what) {
  const error = await call().then(() => null, error => error);
  assert(error instanceof ConnectError, `${what}: ${error}`);
  assert.strictEqual(error.code, code, `${what}: ${error}`);
  return error;
}

async function watch(jobs, request, options) {
  const states = [];
  for await (const {job} of jobs.watchJob(request, options)) states.push(job.state);
  return states;
}

async function run({id, transport}) {
  const [studies, reports, models, jobs] = ['StudyService', 'ReportService', 'ModelService', 'TrainingService']
    .map(name => createClient(types.getService(`coppice.v1.${name}`), transport));
  const study = `studies/${id}`;
  let trailers;
  const created = await studies.createStudy(sampleStudy(id),
    {headers: {'x-request-id': `of-${id}`}, onTrailer: found => { trailers = found; }});
  assert.strictEqual(created.study.name, study);
  assert.strictEqual(trailers.get('x-request-id'), `of-${id}`, 'the request id did not come back');
  const unready = await checkRefused(() => models.buildModel(
    {study, modelId: id, estimator: {case: 'prune', value: {}}}),
  Code.FailedPrecondition, 'a model below the minimum of reports');
  assert.match(unready.rawMessage, /report/);

  const offer = await studies.getOffer({name: study, tickets: 1});
  const cells = checkedCells(offer);
  const payload = Buffer.alloc(Math.ceil(cells / 8)); // one bit set; not private: a device with a row must randomize
  const cell = crypto.randomInt(cells);
  payload[Math.floor(cell / 8)] |= 1 << cell % 8;
  const batch = {study, fingerprint: offer.fingerprint, reports: [{ticket: offer.tickets[0], payload}]};
  const keys = await studies.getCuratorKeys({});
  const type = types.getMessage('coppice.v1.SealedReports');
  const manifest = fromBinary(types.getMessage('coppice.v1.Manifest'), offer.manifest.manifest);
  const bytes = messageBytes(study.slice('studies/'.length), manifest.reportBytes, 1);
  for (const outcome of [ACCEPTED, DUPLICATE]) {
    const {open, ...request} = sealReports(keys.directSuite, keys.directKey, toBinary(type, create(type, batch)), bytes);
    assert.deepStrictEqual(open((await reports.submitReports(request)).sealedOutcomes), [outcome]);
  }

  const {model} = await models.buildModel({study, modelId: id, estimator: {case: 'prune', value: {}}});
  assert.strictEqual(model.certificate.reports, 1n);
  const answer = await models.predict({name: model.name, rows: [{values: [1]}, {values: [9]}]});
  assert.deepStrictEqual(answer.classes, ['no', 'yes']);
  for (const {probabilities} of answer.predictions) {
    assert(Math.abs(probabilities.reduce((sum, p) => sum + p, 0) - 1) < 1e-9, `${probabilities}`);
  }

  assert.strictEqual((await watch(jobs, {name: 'jobs/job'})).pop(), JOB_DONE);
  await checkRefused(() => watch(jobs, {name: 'jobs/none'}), Code.NotFound, 'a job that is not there');
  await studies.deleteStudy({name: study});
  await checkRefused(() => studies.getStudy({name: study}), Code.NotFound, 'a study that was deleted');
  console.log(`${id}: a study from beginning to end`);
}

async function main() {
  for (const each of transports()) await run(each);
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
