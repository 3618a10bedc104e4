// Debian's Chromium without a window, and the console in it. Whatever a page complains of is kept: errors on its console,
// what its policy refused, requests to anywhere else.

'use strict';

const {execFileSync} = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const {chromium} = require('playwright-core');

const PICTURES = path.resolve(process.env.COPPICE_PICTURES_DIR);
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const WIDTH = 1100, HEIGHT = 900, NARROW = 360;
const STEP_MS = 300_000;  // the machines that test are slow and busy

/** Chromium that trusts the daemons' certificates, and no others of their authorities. */
async function launch(daemons, args = []) {
  const hashes = daemons.map(daemon => crypto.createHash('sha256').update(
    new crypto.X509Certificate(fs.readFileSync(daemon.file('certs/server.crt'))).publicKey.export({type: 'spki', format: 'der'})).digest('base64'));
  return chromium.launch({executablePath: execFileSync('sh', ['-c', 'command -v chromium'], {encoding: 'utf8'}).trim(),
    args: [`--ignore-certificate-errors-spki-list=${hashes.join(',')}`, '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage',
      '--disable-background-networking', '--disable-component-update', ...args]});
}

// What a browser says of any answer that is an error; the pages say it in words.
const IS_STATUS = /^Failed to load resource: the server responded with a status of [45]\d\d/;
const IS_LOST = /^Failed to load resource: net::ERR_/;

class Console {
  /** Opens the console of `daemon` in a window of its own. `context` is Playwright's. */
  static async open(browser, daemon, {route = '', scheme = 'light', width = WIDTH, context = {}} = {}) {
    const opened = new Console();
    opened.daemon = daemon;
    opened.complaints = [];
    opened.mayBeLost = false;
    opened.context = await browser.newContext({viewport: {width, height: HEIGHT}, colorScheme: scheme, reducedMotion: 'reduce', locale: 'en-GB',
      acceptDownloads: true, ...context});
    opened.context.setDefaultTimeout(STEP_MS);
    await opened.context.addInitScript(() => document.addEventListener('securitypolicyviolation',
      event => console.error(`refused: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
    opened.page = await opened.context.newPage();
    opened.watch(opened.page);
    await opened.page.goto(`${daemon.origin}/${route}`);
    return opened;
  }

  watch(page) {
    page.on('console', message => {
      if (!['error', 'warning'].includes(message.type())) return;
      if (IS_STATUS.test(message.text()) && message.location().url.includes('/coppice.v1.')) return;
      if (IS_LOST.test(message.text()) && this.mayBeLost) return;
      this.complaints.push(`${message.type()}: ${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', error => this.complaints.push(`exception: ${error.stack ?? error.message}`));
    page.on('request', request => {
      const url = request.url();
      if (!url.startsWith(`${this.daemon.origin}/`) && !/^(data:|blob:|about:)/.test(url)) this.complaints.push(`request: ${url}`);
    });
  }

  async signIn(caller = 'admin') {
    await this.page.getByLabel('Token').fill(this.daemon.tokens[caller]);
    await this.page.getByRole('button', {name: 'Sign in'}).click();
    await this.page.getByRole('navigation', {name: 'Main'}).waitFor();
  }

  /** Goes to a page without loading the console anew, and waits until it has its heading and nothing loads. */
  async go(...parts) {
    await this.page.evaluate(hash => { location.hash = hash; }, `#/${parts.map(encodeURIComponent).join('/')}`);
    await this.settle();
  }

  async settle() {
    await this.page.locator('main h1').first().waitFor();
    await this.page.waitForFunction(() => document.querySelector('main [aria-busy="true"], main .loading') === null);
  }

  heading() {
    return this.page.getByRole('heading', {level: 1});
  }

  /** The violations of this page that are serious or critical, in words. */
  async violations() {
    await this.page.evaluate(AXE);
    const {violations} = await this.page.evaluate(() => axe.run(document, {resultTypes: ['violations'], iframes: false}));
    return violations.filter(({impact}) => ['serious', 'critical'].includes(impact)).map(({id, help, nodes}) =>
      `${id}: ${help}: ${nodes.slice(0, 3).map(node => `${node.html.slice(0, 200)} ${node.any.map(check => check.message).join(' ')}`).join(' | ')}`);
  }

  async picture(name) {
    await this.page.screenshot({path: path.join(PICTURES, `${name}.png`), fullPage: true, animations: 'disabled'});
  }

  /** All text of the page as a reader gets it. */
  text() {
    return this.page.locator('main').innerText();
  }

  close() {
    return this.context.close();
  }
}

module.exports = {Console, HEIGHT, NARROW, PICTURES, WIDTH, launch};
