// The main jobs by clicks alone, from an empty store: a study until its model is saved to a file, and a dataset until an
// endpoint is rolled back. Devices are the command line's.

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const {Console, launch} = require('./support/browser');
const {Daemon} = require('./support/daemon');
const {PEOPLE, writeTables} = require('./support/tables');

const DEVICES = 600;

let daemon, browser, tables;

before(async () => {
  daemon = await Daemon.start();
  tables = writeTables(daemon, PEOPLE, {public: 80, private: DEVICES, test: 200});
  browser = await launch([daemon]);
});

after(async () => {
  await browser?.close();
  await daemon?.remove();
});

/** What clicks are made of: every wait is for something that a reader sees. */
class Reader {
  constructor(shown) {
    this.shown = shown;
    this.page = shown.page;
  }

  within(box) { return box === undefined ? this.page : this.page.getByRole(box); }
  click(name, box) { return this.within(box).getByRole('button', {name, exact: typeof name === 'string'}).click(); }
  follow(name, within = this.page) { return within.getByRole('link', {name, exact: true}).first().click(); }
  part(name) { return this.page.getByRole('navigation', {name: /^Parts of/}).getByRole('link', {name, exact: true}).click(); }
  write(label, text, box) { return this.within(box).getByLabel(label, {exact: true}).fill(text); }
  choose(label, file) { return this.page.getByLabel(label, {exact: true}).setInputFiles(file); }
  sees(text) { return this.page.getByText(text).first().waitFor(); }
  open(summary) { return this.page.locator('summary').filter({hasText: summary}).click(); }
  /** The number beside a figure's name, once it is `wanted`. */
  figure(name, wanted) {
    return this.page.locator('.figures > div').filter({has: this.page.locator('dt', {hasText: new RegExp(`^${name}$`)})})
      .locator('dd b').filter({hasText: wanted}).waitFor();
  }
  isAt(title) { return this.page.getByRole('heading', {level: 1, name: title}).waitFor(); }
}

const opened = async (name, act) => {
  const shown = await Console.open(browser, daemon);
  try {
    await shown.signIn();
    await act(new Reader(shown), shown);
    assert.deepStrictEqual(shown.complaints, []);
  } catch (error) {
    await shown.picture(`failed-${name}`);
    throw error;
  } finally {
    await shown.close();
  }
};

/** Clicks what starts a download; the name and the bytes. */
async function downloaded(page, click) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return {name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path())};
}

test('a study: made, answered, sealed, built, asked, certified, saved', () => opened('study', async (reader, {page}) => {
  await reader.sees('There is no study yet');
  await reader.follow('New study');
  await reader.choose('Schema', tables.schema);
  await reader.choose('Public rows', tables.public);
  await reader.sees(/^80$/);
  await reader.write('Epsilons', '1, 4');
  await reader.write('Numbers of devices', '600');
  await reader.click('Forecast');
  await page.getByRole('table', {name: /Forecast from 80 public rows/}).getByRole('row').nth(2).waitFor();
  await reader.write('Name', 'by-clicks');
  await reader.write('Epsilon per report', '4');
  await reader.write('Fewest reports of a model', '100');
  await reader.click('Create the study …');
  assert.match(await page.getByRole('dialog').innerText(), /epsilon 4[^]*80 public rows/);
  await reader.click('Create the study', 'dialog');
  await reader.isAt('by-clicks');
  await reader.figure('Accepted reports', /^0$/);

  // Devices answer while the page is open, and it follows.
  const collecting = daemon.coppice(['collect', 'simulate', '--study', 'by-clicks', '--data', tables.private, '--batch', '100'], 'device');
  await reader.figure('Accepted reports', /^600$/);
  await collecting;
  await reader.sees(`${DEVICES} reports accepted, 0 rejected`);
  assert.ok(await page.locator('canvas').count() > 0, 'the history is drawn');
  await page.getByRole('row', {name: /^accepted 600/}).waitFor();

  await reader.click('Seal …');
  assert.match(await page.getByRole('dialog').innerText(), /no more reports, for good/);
  await reader.click('Seal the study', 'dialog');
  await reader.sees(/Sealed/);
  assert.strictEqual(await page.getByRole('button', {name: 'Seal …'}).count(), 0);

  await reader.part('Models');
  await reader.open('Build a model from the reports so far');
  await reader.write('Name', 'clicked-model');
  await reader.click('Build the model');
  await reader.sees(/was built/);
  await reader.follow('clicked-model');
  await reader.isAt('clicked-model');

  await reader.part('Try a row');
  await reader.write('age', '95');
  await reader.write('income', '9.5');
  await page.getByLabel('job', {exact: true}).selectOption({label: 'smith'});
  await reader.click('Predict');
  await reader.figure('buys', /^yes$/);
  await reader.sees('Its way through the trees');
  assert.ok(await page.locator('[role="treeitem"].on-way').count() >= 2, 'the way of the row is marked');
  await reader.write('age', '2');
  await reader.write('income', '0.5');
  await reader.click('Predict');
  await reader.figure('buys', /^no$/);

  await reader.part('Evaluate');
  await reader.choose('Table with labels', tables.test);
  await reader.click('Evaluate');
  await reader.sees('Measured on 200 rows');
  const reached = Number(await page.locator('.figures dd b').first().innerText());
  const [{accuracy}] = await daemon.coppice(['model', 'evaluate', '--model', 'clicked-model', '--data', tables.test]);
  assert.ok(Math.abs(reached - accuracy) < 0.00051, `the command says ${accuracy}, the page ${reached}`);

  await reader.part('Certificate');
  const certificate = page.frameLocator('iframe');
  await certificate.getByText('Together they cost ε = 4 per report.').first().waitFor();
  assert.strictEqual(await certificate.locator('body').evaluate(body => getComputedStyle(body).maxWidth !== 'none'), true, 'the style sheet of documents is taken');
  const page_ = await downloaded(page, () => reader.click('Save as a file'));
  assert.match(page_.bytes.toString(), /^<!DOCTYPE html>/i);

  await reader.part('Files');
  const file = await downloaded(page, () => reader.click('Save as Coppice'));
  fs.writeFileSync(daemon.file('exported'), file.bytes);
  await daemon.coppice(['model', 'export', '--model', 'clicked-model', '--output', daemon.file('by-command')]);
  assert.ok(file.bytes.equals(fs.readFileSync(daemon.file('by-command'))), 'the file is that of the command line');
  for (const name of ['JSON', 'ONNX', 'C header']) {
    const {bytes} = await downloaded(page, () => reader.click(`Save as ${name}`));
    assert.ok(bytes.length > 500, name);
  }
}));

test('a study is of the rows that were chosen last', () => opened('chosen-last', async (reader, {page}) => {
  const [header, ...rows] = fs.readFileSync(tables.test, 'utf8').trim().split('\n');
  fs.writeFileSync(daemon.file('large.csv'), `${header}\n${Array.from({length: 2000}, () => rows.join('\n')).join('\n')}\n`);  // 400,000 rows
  await reader.follow('New study');
  await reader.choose('Schema', tables.schema);
  await reader.choose('Public rows', daemon.file('large.csv'));  // while the schema is read
  await reader.sees('Reading the rows');
  await reader.choose('Public rows', tables.public);
  await page.getByRole('button', {name: 'Create the study …'}).waitFor();
  await reader.sees(/^80$/);
  await page.waitForTimeout(3000);  // in which the large one would have been read
  await reader.sees(/^80$/);
  await reader.click('Create the study …');
  await page.getByRole('dialog').getByText('80 public rows').waitFor();
}));

test('a dataset: uploaded, planned, trained on, served, rolled back', () => opened('dataset', async (reader, {page}) => {
  await reader.follow('Datasets');
  await reader.sees('There is no dataset that you may see');
  await reader.follow('New dataset');
  await reader.choose('Schema', tables.schema);
  await reader.choose('Rows', tables.private);
  await reader.write('Name', 'people');
  await reader.write('ε in all', '3');
  await reader.click('Create and upload');
  assert.match(await page.getByRole('dialog').innerText(), /ε 3[^]*can never be changed/);
  await reader.click(`Create it and upload ${DEVICES} rows`, 'dialog');
  await reader.isAt('people');
  await reader.figure('Rows', /^600$/);

  for (const [job, epsilon] of [['one', 1], ['two', 1.5]]) {
    await reader.follow('Train a model');
    await page.getByLabel('Algorithm', {exact: true}).selectOption('spe');
    await reader.write('ε of the job', String(epsilon));
    await reader.open('Names of the job and of its model');
    await reader.write('Job', job);
    await reader.sees('Everything that it would release');
    // What an algorithm is charged may be a few billionths less than it may spend.
    const charged = /charged ε ([0-9.]+)/.exec(await page.getByText(/The job (would be|is) charged ε/).innerText())[1];
    assert.ok(Math.abs(Number(charged) - epsilon) < 1e-6 && Number(charged) <= epsilon, charged);
    await reader.click('Submit the job');
    await reader.click(`Spend ε ${charged}`, 'dialog');
    await reader.isAt(job);
    await reader.sees('The model is there');
    await reader.follow('Go to the model');
    await reader.isAt(job);
    await reader.click('Serve …');
    await reader.write('Endpoint', 'people-now', 'dialog');
    await reader.sees(job === 'one' ? 'it is made, with this model as its version 1' : 'It answers with one now, as version 1');
    await reader.click('Serve it', 'dialog');
    await reader.isAt('people-now');
    await reader.figure('Model', new RegExp(`^${job}$`));
    await reader.follow('Datasets');
    await reader.follow('people');
  }
  await reader.figure('ε left', /^0\.50*\d$/);
  for (const text of ['one', 'two', 'the-admin']) await reader.sees(text);

  // More than is left: said before anything is submitted, and by the daemon if somebody else spends in between.
  await reader.follow('Train a model');
  await page.getByLabel('Algorithm', {exact: true}).selectOption('spe');
  await reader.write('ε of the job', '0.25');
  await reader.sees('Everything that it would release');
  await reader.click('Submit the job');
  await daemon.coppice(['train', 'submit', '--dataset', 'people', '--algorithm', 'spe', '--epsilon', '0.4', '--job', 'other', '--wait']);
  await page.getByRole('dialog').getByRole('button', {name: /^Spend/}).click();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  assert.match(await page.getByRole('dialog').getByRole('alert').innerText(), /epsilon|budget/i);
  await page.keyboard.press('Escape');
  await reader.follow('Datasets');
  await reader.follow('people');
  await reader.figure('ε left', /^0\.10*\d$/);
  await reader.follow('Train a model');
  await page.getByLabel('Algorithm', {exact: true}).selectOption('spe');
  await reader.write('ε of the job', '0.75');
  await reader.sees('The budget does not allow this job');
  assert.ok(await page.getByRole('button', {name: 'Submit the job'}).isDisabled());
  const {spent} = (await daemon.call('DatasetService/GetDataset', {name: 'datasets/people'})).body.dataset;
  assert.ok(Math.abs(Number(spent.epsilonNanos) - 2.9e9) < 1000, spent.epsilonNanos);

  await reader.follow('Models');
  await reader.follow('Endpoints');
  await reader.follow('people-now');
  await reader.click('Roll back to version 1');
  assert.match(await page.getByRole('dialog').innerText(), /answers with one instead of two/);
  await reader.click('Roll back', 'dialog');
  await reader.figure('Model', /^one$/);
  await reader.figure('Version', /^3$/);
  assert.strictEqual((await daemon.call('ModelService/GetEndpoint', {name: 'endpoints/people-now'})).body.endpoint.versions.at(-1).model, 'models/one');
}));

test('a dataset with public rows, from which a job starts unless it is told not to', () => opened('public-rows', async (reader, {page}) => {
  await reader.follow('Datasets');
  await reader.follow('New dataset');
  await reader.choose('Schema', tables.schema);
  await reader.choose('Rows', tables.private);
  await reader.choose('Public rows, if there are any', tables.public);
  await reader.write('Name', 'with-public');
  await reader.write('ε in all', '3');
  await reader.click('Create and upload');
  assert.match(await page.getByRole('dialog').innerText(), /80 public rows of/);
  await reader.click(`Create it and upload ${DEVICES} rows`, 'dialog');
  await reader.isAt('with-public');
  await reader.sees(/which nothing protects: SHA-256/);
  await reader.follow('Train a model');
  await page.getByLabel('Algorithm', {exact: true}).selectOption('spe');
  await reader.write('ε of the job', '1');
  await reader.sees(/spe cannot start from public rows/);
  const start = page.getByLabel('Start from the dataset\'s 80 public rows', {exact: true});
  await start.uncheck();
  await reader.sees('Everything that it would release');
  await page.getByLabel('Algorithm', {exact: true}).selectOption('auto');
  await start.check();
  await reader.open('Names of the job and of its model');
  await reader.write('Job', 'from-public');
  await reader.sees(/which part of the public rows/);
  await reader.click('Submit the job');
  await page.getByRole('dialog').getByRole('button', {name: /^Spend/}).click();
  await reader.isAt('from-public');
  await reader.sees('The model is there');
  await reader.sees(/80 public rows, which nothing protects/);
  await reader.sees(/which part of the public rows/);
}));

test('a wrong schema and wrong rows: everything is said, with line and column, and nothing is sent', () => opened('wrong', async (reader, {page}) => {
  const broken = {label: 'buys', classes: ['yes'], features: [{name: 'age', type: 'numeric', min: 9, max: 1}, {name: 'age', type: 'colour'}]};
  fs.writeFileSync(daemon.file('broken.json'), JSON.stringify(broken));
  fs.writeFileSync(daemon.file('no.json'), '{"label": ');
  fs.writeFileSync(daemon.file('broken.csv'), 'age,income,job,buys\n1,2,clerk,yes\nsecret-age,2,clerk,yes\n3,4,clerk,perhaps-secret\n');
  await reader.follow('New study');
  for (const file of ['no.json', 'broken.json']) {
    await reader.choose('Schema', daemon.file(file));
    await reader.sees(/wrong with the schema/);
  }
  const errors = await page.getByRole('alert').innerText();
  assert.match(errors, /min/);
  assert.match(errors, /classes/);
  await reader.choose('Schema', tables.schema);
  await reader.choose('Public rows', daemon.file('broken.csv'));
  await reader.sees(/line 3/i);
  assert.doesNotMatch(await page.getByRole('alert').innerText(), /secret/, 'messages name places, never values');
  assert.strictEqual(await page.getByRole('button', {name: 'Create the study …'}).count(), 0);

  const datasets = async () => (await daemon.call('DatasetService/ListDatasets', {})).body.datasets.length;
  const before = await datasets();
  await reader.follow('Datasets');
  await reader.follow('New dataset');
  await reader.choose('Schema', tables.schema);
  await reader.choose('Rows', daemon.file('broken.csv'));
  await reader.sees(/line 3/i);
  await reader.write('ε in all', '1');
  assert.ok(await page.getByRole('button', {name: 'Create and upload'}).isDisabled());
  await reader.write('ε in all', 'much');
  await reader.sees('A number above 0 with at most nine digits after the point');
  assert.strictEqual(await datasets(), before);
}));
