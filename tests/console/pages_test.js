// Every page of the console: axe-core finds nothing serious, in light and dark; nothing is wider than a telephone's window;
// nothing is complained of. Pictures of each stay in COPPICE_PICTURES_DIR.

'use strict';

const assert = require('node:assert');
const {after, before, test} = require('node:test');
const {Console, NARROW, launch} = require('./support/browser');
const {Daemon} = require('./support/daemon');
const {fill} = require('./support/tables');

// By the names of their pictures.
const PAGES = {
  studies: ['studies'], 'study': ['studies', 'survey'], 'study-accuracy': ['studies', 'survey', 'accuracy'], 'study-trees': ['studies', 'survey', 'trees'],
  'study-terms': ['studies', 'survey', 'terms'], 'study-new': ['studies', '~new'], 'study-none': ['studies', 'none'],
  datasets: ['datasets'], dataset: ['datasets', 'patients'], 'dataset-new': ['datasets', 'new'], 'dataset-train': ['datasets', 'patients', 'train'],
  jobs: ['datasets', 'jobs'], job: ['datasets', 'job', 'second'], curve: ['datasets', 'curve'],
  models: ['models'], model: ['models', 'survey-model'], 'model-trained': ['models', 'second'],
  operations: ['operations'],
};
// What pages become when they are used: names of pictures, the page, and clicks.
const button = (page, name) => page.getByRole('button', {name, exact: true});
const USES = {
  'used-seal': [['studies', 'survey'], page => button(page, 'Seal …').click()],
  'used-delete': [['studies', 'survey'], page => button(page, 'Delete …').click()],
  'used-forecast': [['studies', 'survey', 'accuracy'], async page => {
    await button(page, 'Forecast').click();
    await page.getByText('As a page to print').click();
    await page.frameLocator('iframe').getByRole('heading', {level: 1}).waitFor();
  }],
  'used-new-study': [['studies', '~new'], async page => {
    await page.getByLabel('Schema', {exact: true}).setInputFiles(tables.schema);
    await page.getByLabel('Public rows', {exact: true}).setInputFiles(tables.public);
    await button(page, 'Create the study …').waitFor();
  }],
  'used-try': [['models', 'survey-model', 'try'], async page => {
    await button(page, 'Predict').click();
    await page.getByText('Its way through the trees').waitFor();
  }],
  'used-evaluate': [['models', 'survey-model', 'evaluate'], async page => {
    await page.getByLabel('Table with labels', {exact: true}).setInputFiles(tables.test);
    await button(page, 'Evaluate').click();
    await page.getByText('Measured on 200 rows').waitFor();
  }],
  'used-serve': [['models', 'survey-model'], page => button(page, 'Serve …').click()],
  'used-train': [['datasets', 'patients', 'train'], async page => {
    await page.getByLabel('ε of the job', {exact: true}).fill('20');
    await page.getByText('The budget does not allow this job').waitFor();
  }],
  'used-verify': [['operations', 'audit'], async page => {
    await button(page, 'Verify the whole chain').click();
    await page.getByText(/chain/i).last().waitFor();
  }],
};

// More parts of these pages, by their links in a navigation beside the main one.
const HAS_PARTS = ['model', 'model-trained', 'operations', 'dataset', 'models'];

let daemon, browser, tables;

before(async () => {
  daemon = await Daemon.start();
  tables = await fill(daemon);
  browser = await launch([daemon]);
});

after(async () => {
  await browser?.close();
  await daemon?.remove();
});

/** The pages, and what their own navigations lead to. */
async function allPages(shown) {
  const all = {...PAGES};
  for (const name of HAS_PARTS) {
    await shown.go(...PAGES[name]);
    const links = await shown.page.locator('main nav a[href^="#/"]').evaluateAll(found => found.map(link => link.getAttribute('href')));
    for (const link of links) {
      const parts = link.slice(2).split('/').map(decodeURIComponent);
      if (!Object.values(all).some(known => known.join('/') === parts.join('/'))) all[parts.join('-')] = parts;
    }
  }
  return all;
}

async function visit(shown, parts) {
  await shown.go(...parts);
  assert.strictEqual(await shown.heading().count(), 1, 'one h1');
  assert.ok(await shown.heading().evaluate(heading => heading === document.activeElement || document.activeElement.tagName !== 'BODY'), 'the focus is lost');
  assert.match(await shown.page.title(), /Coppice$/);
  assert.strictEqual(await shown.page.locator('main [role="alert"]').count(), 0, `an error: ${(await shown.text()).slice(0, 600)}`);
}

const SIZES = {light: {scheme: 'light'}, dark: {scheme: 'dark'}, narrow: {scheme: 'light', width: NARROW}};

for (const [size, options] of Object.entries(SIZES)) {
  test(`pages, ${size}`, async () => {
    const shown = await Console.open(browser, daemon, options), problems = [];
    const widths = async name => {
      const wide = await shown.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) problems.push(`${name}: ${wide} px wider than the window`);
    };
    try {
      await shown.settle();
      if (size !== 'narrow') problems.push(...(await shown.violations()).map(text => `sign in: ${text}`));
      await shown.picture(`sign-in-${size}`);
      await shown.signIn();
      const pages = await allPages(shown);
      assert.ok(Object.keys(pages).length >= Object.keys(PAGES).length);
      for (const [name, parts] of Object.entries(pages)) {
        try {
          await visit(shown, parts);
        } catch (error) {
          problems.push(`${name}: ${error.message}`);
        }
        if (size !== 'narrow') problems.push(...(await shown.violations()).map(text => `${name}: ${text}`));
        await widths(name);
        await shown.picture(`${name}-${size}`);
      }
      for (const [name, [parts, use]] of Object.entries(USES)) {
        await shown.page.reload();  // no dialog, file or answer of before
        await shown.signIn();
        await shown.go(...parts);
        await use(shown.page);
        if (size !== 'narrow') problems.push(...(await shown.violations()).map(text => `${name}: ${text}`));
        await widths(name);
        await shown.picture(`${name}-${size}`);
      }
      problems.push(...shown.complaints);
    } finally {
      await shown.close();
    }
    assert.deepStrictEqual(problems, []);
  });
}

test('a page is read by the keyboard alone', async () => {
  const shown = await Console.open(browser, daemon, {route: '#/studies'});
  const {page} = shown;
  try {
    await page.getByLabel('Token').focus();
    await page.keyboard.insertText(daemon.tokens.admin);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', {name: 'Main'}).waitFor();
    await shown.settle();
    const skip = page.getByRole('link', {name: 'Skip to the page'});
    await skip.focus();
    assert.ok((await skip.boundingBox()).x >= 0, 'the link that skips is seen once it has the focus');
    await page.keyboard.press('Enter');
    assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'main');
    const reached = [];
    for (let i = 0; i < 40 && reached.at(-1) !== 'survey'; ++i) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => document.activeElement.textContent));
      const outline = await page.evaluate(() => { const style = getComputedStyle(document.activeElement); return `${style.outlineStyle} ${style.outlineWidth} ${style.boxShadow}`; });
      assert.ok(!/^none .*none$/.test(outline), `the focus cannot be seen on ${reached.at(-1)}`);
    }
    assert.strictEqual(reached.at(-1), 'survey', `by Tab: ${reached.join(', ')}`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', {name: 'survey'}).waitFor();
    await page.waitForFunction(() => document.activeElement.tagName === 'H1' && document.activeElement.textContent === 'survey');
    await shown.go('studies', 'survey', 'trees');
    const tree = page.getByRole('tree').first();
    await tree.focus();
    const place = () => tree.getAttribute('aria-activedescendant');
    const before = await place();
    await page.keyboard.press('ArrowDown');
    assert.notStrictEqual(await place(), before);
    await page.keyboard.press('Home');
    assert.strictEqual(await place(), before);
    assert.deepStrictEqual(shown.complaints, []);
  } finally {
    await shown.close();
  }
});

for (const scheme of ['light', 'dark']) {
  test(`an act that cannot be done yet looks like that, ${scheme}`, async () => {
    const shown = await Console.open(browser, daemon, {scheme});
    const {page} = shown;
    try {
      await shown.signIn();
      await shown.go('studies', 'survey');
      await button(page, 'Delete …').click();
      const dialog = page.getByRole('dialog'), act = button(dialog, 'Delete the study');
      const look = () => act.evaluate(shown => { const {color, borderColor, cursor} = getComputedStyle(shown); return {color, borderColor, cursor}; });
      assert.ok(await act.isDisabled());
      const before = await look();
      await shown.picture(`delete-not-yet-${scheme}`);
      await dialog.getByRole('textbox').fill('survey');
      assert.ok(await act.isEnabled());
      const after = await look();
      await shown.picture(`delete-ready-${scheme}`);
      assert.strictEqual(before.cursor, 'not-allowed');
      assert.strictEqual(after.cursor, 'pointer');
      assert.notStrictEqual(before.color, after.color);
      assert.notStrictEqual(before.borderColor, after.borderColor);
    } finally {
      await shown.close();
    }
  });
}
