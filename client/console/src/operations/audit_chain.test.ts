import assert from 'node:assert/strict';
import {createHash, generateKeyPairSync, sign, webcrypto} from 'node:crypto';
import {test} from 'node:test';
import {create, fromJson, type JsonValue} from '@bufbuild/protobuf';
import {AuditEntrySchema, AuditHeadSchema, ReadAuditLogResponseSchema, type AuditEntry} from 'proto/admin_pb';
import log from './testdata/audit_log.json';
import {AuditChain, canonicalBytes, hashOf, verifyHead} from './audit_chain';

// Node 18 does not define the global.
if (globalThis.crypto === undefined) Object.defineProperty(globalThis, 'crypto', {value: webcrypto});

const START = {entries: 0n, hash: new Uint8Array(32)};

async function chainOf(count: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let previous: Uint8Array = START.hash;
  for (let i = 0; i < count; ++i) {
    const entry = create(AuditEntrySchema, {sequence: BigInt(i), day: '2026-01-31', actor: 'ops', action: 'ledger/charge', resource: 'datasets/a', outcome: 'OK', epsilonNanos: BigInt(i)});
    entry.hash = previous = await hashOf(entry, previous);
    entries.push(entry);
  }
  return entries;
}

test('canonical bytes leave out defaults, write lengths before texts, and end with 0', () => {
  const hex = Buffer.from(canonicalBytes(create(AuditEntrySchema, {sequence: 0n, day: 'ab', epsilonNanos: 5n}))).toString('hex');
  const number = (value: number) => value.toString(16).padStart(16, '0');
  assert.equal(hex, [2, 1, 2].map(number).join('') + '6162' + [8, 1, 5, 0].map(number).join(''));
});

test('the hash covers the domain, the hash before and the entry', async () => {
  const entry = create(AuditEntrySchema, {sequence: 7n, action: 'daemon/start'});
  const inner = createHash('sha256').update(canonicalBytes(entry)).digest();
  const expected = createHash('sha256').update('coppice.v1.audit.entry\0').update(Buffer.alloc(32, 9)).update(inner).digest('hex');
  assert.equal(Buffer.from(await hashOf(entry, new Uint8Array(32).fill(9))).toString('hex'), expected);
});

test('a chain holds, and tells of a change, a gap and another end', async () => {
  const entries = await chainOf(3);
  const chain = new AuditChain(START);
  for (const entry of entries) assert.equal(await chain.add(entry), null);
  assert.ok(chain.reaches(create(AuditHeadSchema, {entries: 3n, hash: entries[2]!.hash})));
  assert.ok(!chain.reaches(create(AuditHeadSchema, {entries: 3n, hash: entries[1]!.hash})));
  assert.match(await new AuditChain(START).add({...entries[0]!, actor: 'another'}) ?? '', /does not fit/);
  assert.match(await new AuditChain(START).add(entries[1]!) ?? '', /Entry 0 is missing/);
});

test('a head is signed by its key, or is not', async () => {
  const {publicKey, privateKey} = generateKeyPairSync('ed25519');
  const hash = new Uint8Array(32).fill(3), entries = Buffer.alloc(8);
  entries.writeBigUInt64BE(12n);
  const signature = sign(null, Buffer.concat([Buffer.from('coppice.v1.audit\0'), entries, hash]), privateKey);
  const key = publicKey.export({format: 'der', type: 'spki'}).subarray(-32);
  const head = create(AuditHeadSchema, {entries: 12n, hash, signature: {signature: new Uint8Array(signature), key: new Uint8Array(key)}});
  assert.equal(await verifyHead(head), 'holds');
  assert.equal(await verifyHead({...head, entries: 13n}), 'broken');
  assert.equal(await verifyHead(create(AuditHeadSchema, {entries: 12n, hash})), 'absent');
});

// Recorded from a daemon: charges with links to ledgers, with and without a delta.
test('the log of a daemon holds, with the signature of its head', async () => {
  const {entries, head} = fromJson(ReadAuditLogResponseSchema, log as JsonValue);
  const chain = new AuditChain(START);
  for (const entry of entries) assert.equal(await chain.add(entry), null);
  assert.ok(chain.reaches(head!));
  assert.equal(await verifyHead(head!), 'holds');
});
