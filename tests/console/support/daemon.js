// A real coppiced for one test: TLS, a policy with a token for each role, a store on disk. What it leaves is removed.

'use strict';

const {execFile, execFileSync, spawn} = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const os = require('node:os');
const path = require('node:path');
const {promisify} = require('node:util');

const ROOT = path.resolve(__dirname, '../../..');
const BIN = process.env.COPPICE_BIN_DIR;
const CALLERS = {
  admin: ['--role', 'admin'],
  trainer: ['--role', 'trainer', '--resource', '*'],
  analyst: ['--role', 'analyst', '--resource', '*'],
  device: ['--role', 'device'],
};
const START_MS = 300_000;

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/** The SHA-256 of a PEM certificate's DER form. */
function fingerprintOf(pem) {
  return crypto.createHash('sha256').update(new crypto.X509Certificate(pem).raw).digest('hex');
}

class Daemon {
  /**
   * `withCertificate`: browsers with client.crt are the admin's too. `anonymous`: roles of those who show nothing. `flags`
   * are coppiced's.
   */
  static async start({withCertificate = false, anonymous = [], flags = []} = {}) {
    const daemon = new Daemon();
    daemon.anonymous = anonymous;
    daemon.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'coppice-console-'));
    try {
      daemon.writeCredentials(withCertificate);
      daemon.flags = ['--backup-dir', daemon.file('backups'), '--log-level', 'debug', ...flags];
      if (withCertificate) daemon.flags.push('--client-ca', daemon.file('certs/ca.crt'));
      fs.mkdirSync(daemon.file('backups'), {mode: 0o700});
      await daemon.serve('127.0.0.1:0', '127.0.0.1:0');
    } catch (error) {
      await daemon.remove();
      throw error;
    }
    return daemon;
  }

  file(name) {
    return path.join(this.folder, name);
  }

  writeCredentials(withCertificate) {
    execFileSync(path.join(ROOT, 'deploy/make-certs.sh'), [this.file('certs')], {stdio: 'ignore'});
    this.tokens = {};
    const policy = {anonymous: this.anonymous, tokens: [], certificates: []};
    for (const [name, roles] of Object.entries(CALLERS)) {
      const [token, entry] = execFileSync(path.join(BIN, 'coppiced'), ['token', '--name', `the-${name}`, ...roles],
        {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}).trim().split('\n');
      this.tokens[name] = token;
      fs.writeFileSync(this.file(`${name}.token`), `${token}\n`, {mode: 0o600});
      policy.tokens.push(JSON.parse(entry));
    }
    if (withCertificate) {
      policy.certificates.push({name: 'browser', roles: ['admin'],
        sha256: fingerprintOf(fs.readFileSync(this.file('certs/client.crt')))});
    } else {
      delete policy.certificates;
    }
    fs.writeFileSync(this.file('policy.json'), JSON.stringify(policy), {mode: 0o600});
  }

  async serve(listen, httpListen) {
    fs.rmSync(this.file('port'), {force: true});
    const before = this.log().length;
    const log = fs.openSync(this.file('daemon.log'), 'a');
    this.process = spawn(path.join(BIN, 'coppiced'), [
      '--data-dir', this.file('store'), '--listen', listen, '--http-listen', httpListen, '--port-file', this.file('port'),
      '--tls-cert', this.file('certs/server.crt'), '--tls-key', this.file('certs/server.key'), '--policy', this.file('policy.json'),
      ...(process.env.COPPICE_CONSOLE_DIR ? ['--console', process.env.COPPICE_CONSOLE_DIR] : []), ...this.flags], {stdio: ['ignore', 'ignore', log]});
    fs.closeSync(log);
    this.ended = new Promise(resolve => { this.process.once('exit', resolve); });
    const deadline = Date.now() + START_MS;
    while (!fs.existsSync(this.file('port')) || fs.readFileSync(this.file('port'), 'utf8') === '') {
      if (this.process.exitCode !== null || Date.now() > deadline) throw new Error(`coppiced does not serve:\n${this.log().slice(-4000)}`);
      await pause(50);
    }
    this.port = Number(fs.readFileSync(this.file('port'), 'utf8'));
    this.httpPort = Number(/ http listen=.* port=(\d+)/.exec(this.log().slice(before))[1]);
    this.origin = `https://localhost:${this.httpPort}`;
  }

  log() {
    return fs.existsSync(this.file('daemon.log')) ? fs.readFileSync(this.file('daemon.log'), 'utf8') : '';
  }

  /** Calls that the daemon ran, by its log. */
  calls() {
    return this.log().split('\n').filter(line => / call /.test(line));
  }

  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  /** Serves the same store at the same addresses. */
  async serveAgain() {
    await this.serve(`127.0.0.1:${this.port}`, `127.0.0.1:${this.httpPort}`);
  }

  /** Runs `coppice`, as the caller of that name; the JSON that it prints. */
  async coppice(args, caller = 'admin') {
    const {stdout} = await promisify(execFile)(path.join(BIN, 'coppice'), [...args, '--json', '--server', `localhost:${this.port}`,
      '--ca', this.file('certs/ca.crt'), '--cert', this.file('certs/client.crt'), '--key', this.file('certs/client.key'),
      '--token-file', this.file(`${caller}.token`)],
      {env: {...process.env, XDG_STATE_HOME: this.file('state')}, maxBuffer: 64 << 20});
    return stdout.trim().split('\n').filter(line => line !== '').map(line => JSON.parse(line));
  }

  /** One request without a browser; its status, headers and bytes. */
  send(method, where, headers = {}, body = '') {
    this.agent ??= new https.Agent({keepAlive: true, ca: fs.readFileSync(this.file('certs/ca.crt')),
      cert: fs.readFileSync(this.file('certs/client.crt')), key: fs.readFileSync(this.file('certs/client.key'))});
    return new Promise((resolve, reject) => {
      const request = https.request(`${this.origin}${where}`, {method, agent: this.agent, headers}, answer => {
        const parts = [];
        answer.on('data', part => parts.push(part));
        answer.on('end', () => resolve({status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts)}));
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  /** Calls a method without a browser; the status and the JSON of the answer. */
  async call(method, message, caller = 'admin') {
    const {status, body} = await this.send('POST', `/coppice.v1.${method}`,
      {'Content-Type': 'application/json', Authorization: `Bearer ${this.tokens[caller]}`}, JSON.stringify(message));
    return {status, body: JSON.parse(body.toString())};
  }

  async remove() {
    this.agent?.destroy();
    if (this.process?.exitCode === null && this.process.signalCode === null) {
      this.process.kill('SIGTERM');
      const timer = setTimeout(() => this.process.kill('SIGKILL'), 20_000);
      await this.ended;
      clearTimeout(timer);
    }
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}

module.exports = {BIN, Daemon, ROOT, pause};
