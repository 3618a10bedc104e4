// Small tables that are the same each time, and a daemon that holds what is made from them.

'use strict';

const fs = require('node:fs');

const PEOPLE = {
  label: 'buys', classes: ['no', 'yes'],
  features: [
    {name: 'age', type: 'numeric', min: 0, max: 100, integer: true, unit: 'years'},
    {name: 'income', type: 'numeric', min: 0, max: 10},
    {name: 'job', type: 'categorical', values: ['clerk', 'smith', 'baker']},
  ],
};

/** Numbers from 0 to 1 that a seed fixes. Nothing private rests on them. */
function numbersOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const quoted = text => `"${String(text).replaceAll('"', '""')}"`;

/** CSV with `rows` rows of `schema`: the first two features decide nearly always. */
function csvOf(schema, rows, seed) {
  const next = numbersOf(seed), lines = [[...schema.features.map(feature => feature.name), schema.label].map(quoted).join(',')];
  for (let row = 0; row < rows; ++row) {
    const shares = schema.features.map(next);
    const values = schema.features.map(({min, max, values: texts, integer}, i) => {
      if (texts !== undefined) return texts[Math.floor(shares[i] * texts.length)];
      const value = min + shares[i] * (max - min);
      return integer ? Math.floor(value) : value.toFixed(3);
    });
    const sum = shares[0] + (shares[1] ?? shares[0]);
    const right = Math.min(Math.floor(sum / 2 * schema.classes.length), schema.classes.length - 1);
    const label = next() < 0.9 ? right : Math.floor(next() * schema.classes.length);
    lines.push([...values, schema.classes[label]].map(quoted).join(','));
  }
  return `${lines.join('\n')}\n`;
}

/** Writes NAME.csv for each number of rows, and schema.json, into the daemon's folder; their paths. */
function writeTables(daemon, schema, rows, prefix = '') {
  const paths = {schema: daemon.file(`${prefix}schema.json`)};
  fs.writeFileSync(paths.schema, JSON.stringify(schema));
  Object.entries(rows).forEach(([name, count], i) => {
    paths[name] = daemon.file(`${prefix}${name}.csv`);
    fs.writeFileSync(paths[name], csvOf(schema, count, 17 + i));
  });
  return paths;
}

/** A study with reports and two models, one for numbers, a dataset with jobs, an endpoint of two versions, a backup. */
async function fill(daemon) {
  const tables = writeTables(daemon, PEOPLE, {public: 60, private: 400, test: 200});
  await daemon.coppice(['study', 'create', '--study', 'survey', '--public', tables.public, '--schema', tables.schema, '--epsilon', '2',
    '--mechanism', 'optimized_unary', '--depth', '4', '--trees', '3', '--min-reports', '10']);
  await daemon.coppice(['collect', 'simulate', '--study', 'survey', '--data', tables.private]);
  await daemon.coppice(['model', 'build', '--study', 'survey', '--model', 'survey-model', '--estimator', 'pooled']);
  await daemon.coppice(['dataset', 'create', '--dataset', 'patients', '--data', tables.private, '--schema', tables.schema, '--epsilon-total', '10']);
  for (const job of ['first', 'second']) {
    await daemon.coppice(['train', 'submit', '--dataset', 'patients', '--algorithm', 'spe', '--epsilon', '1', '--job', job, '--wait']);
    await daemon.coppice(['endpoint', 'set', '--endpoint', 'live', '--model', job]);
  }
  await daemon.coppice(['admin', 'backup']);
  return tables;
}

module.exports = {PEOPLE, csvOf, fill, writeTables};
