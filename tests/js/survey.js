// The sample's study on a real daemon.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const {Daemon, ROOT} = require('../console/support/daemon');

const SAMPLE = path.join(ROOT, 'client/js/sample');

/** A daemon that anybody may answer, and `coppice study key`'s key of it. */
async function startDaemon(flags = []) {
  const daemon = await Daemon.start({anonymous: ['device'], flags});
  daemon.curator = `https://localhost:${daemon.httpPort}`;
  [{pin: daemon.key}] = await daemon.coppice(['study', 'key']);
  return daemon;
}

async function createStudy(daemon, study, epsilon = '1') {
  await daemon.coppice(['study', 'create', '--study', study, '--schema', path.join(SAMPLE, 'schema.json'), '--public', path.join(SAMPLE, 'public.csv'),
    '--epsilon', epsilon]);
}

/** How many reports the curator counted. */
async function countReports(daemon, study) {
  const {body} = await daemon.call('StudyService/GetStudy', {name: `studies/${study}`});
  return (body.study.counts ?? []).filter(count => (count.outcome ?? '').endsWith('ACCEPTED')).reduce((sum, count) => sum + Number(count.reports), 0);
}

module.exports = {SAMPLE, countReports, createStudy, startDaemon, read: name => fs.readFileSync(path.join(process.env.COPPICE_JS_DIR, name), 'utf8')};
