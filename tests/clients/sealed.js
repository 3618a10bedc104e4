// Seals reports for a curator and opens its answers, written from docs/protocol.md alone.

'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part),
  crypto.createHash('sha256')).digest();

// The content of an envelope: its length in four bytes, itself, zeros.
function openEnvelope(bytes) {
  const envelope = Buffer.from(bytes);
  const end = 4 + envelope.readUInt32BE(0);
  assert(envelope.subarray(end).every(byte => byte === 0), 'this is no envelope');
  return envelope.subarray(4, end);
}

// HPKE in base mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM: RFC 9180, and for the
// answer RFC 9458, section 4.4.
const KEM = Buffer.from('KEM\x00\x20', 'latin1');
const SUITE = Buffer.from('HPKE\x00\x20\x00\x01\x00\x01', 'latin1');
const ONE = Buffer.from([1]);

const hmac = (key, ...parts) => parts.reduce((mac, part) => mac.update(part),
  crypto.createHmac('sha256', key)).digest();
const extract = (suite, salt, label, input) => hmac(salt, 'HPKE-v1', suite, label, input);
const expand = (suite, key, label, info, size) =>
  hmac(key, Buffer.from([0, size]), 'HPKE-v1', suite, label, info, ONE).subarray(0, size);

// The length that a message of reports is padded to, by the study's id and its manifest.
function messageBytes(id, reportBytes, reports) {
  return Math.ceil((4 + 44 + id.length + reports * (46 + reportBytes)) / 64) * 64;
}

// Seals a serialized SealedReports message for the curator's direct key, padded to `bytes`. Returns the fields
// of the request, and `open`, which returns the numbers of the outcomes in its answer.
function sealReports(suite, key, message, bytes) {
  assert.strictEqual(suite, 1, 'another suite');
  const spki = Buffer.concat([Buffer.from('302a300506032b656e032100', 'hex'), key]); // RFC 8410
  const curator = crypto.createPublicKey({key: spki, format: 'der', type: 'spki'});
  const own = crypto.generateKeyPairSync('x25519');
  const encapsulated = own.publicKey.export({format: 'der', type: 'spki'}).subarray(-32);
  const agreed = crypto.diffieHellman({privateKey: own.privateKey, publicKey: curator});
  const keyId = sha256(Buffer.from('coppice.v1.sealing_key\0'), Buffer.from([0, 0x20, 0, 1, 0, 1]),
    key).subarray(0, 16);
  const info = Buffer.concat([Buffer.from('coppice.v1.direct_reports\0'), keyId]);

  const zeros = Buffer.alloc(32);
  const shared = expand(KEM, extract(KEM, zeros, 'eae_prk', agreed), 'shared_secret',
    Buffer.concat([encapsulated, key]), 32);
  const context = Buffer.concat([Buffer.from([0]), extract(SUITE, zeros, 'psk_id_hash', ''),
    extract(SUITE, zeros, 'info_hash', info)]);
  const secret = extract(SUITE, shared, 'secret', '');
  const exporter = expand(SUITE, secret, 'exp', context, 32);
  const cipher = crypto.createCipheriv('aes-128-gcm', expand(SUITE, secret, 'key', context, 16),
    expand(SUITE, secret, 'base_nonce', context, 12));

  const plaintext = Buffer.alloc(bytes);
  plaintext.writeUInt32BE(message.length);
  plaintext.set(message, 4);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);

  const open = sealedOutcomes => {
    const answer = Buffer.from(sealedOutcomes);
    const nonce = answer.subarray(0, 16);
    const prk = hmac(Buffer.concat([encapsulated, nonce]),
      expand(SUITE, exporter, 'sec', 'coppice.v1.direct_outcomes', 16));
    const decipher = crypto.createDecipheriv('aes-128-gcm', hmac(prk, 'key', ONE).subarray(0, 16),
      hmac(prk, 'nonce', ONE).subarray(0, 12));
    decipher.setAuthTag(answer.subarray(-16));
    return [...Buffer.concat([decipher.update(answer.subarray(16, -16)), decipher.final()])];
  };
  return {keyId, encapsulated, ciphertext, open};
}

module.exports = {openEnvelope, messageBytes, sealReports};
