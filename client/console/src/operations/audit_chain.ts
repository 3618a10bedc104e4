// Follows the chain of the audit log, by the rules of docs/protocol.md#audit-log. All of it runs in the browser.

import type {AuditEntry, AuditHead} from 'proto/admin_pb';

export type Bytes = Uint8Array<ArrayBuffer>;

const ENTRY_DOMAIN = 'coppice.v1.audit.entry', HEAD_DOMAIN = 'coppice.v1.audit';
const encoder = new TextEncoder();

function numberBytes(value: bigint): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes;
}

function join(parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

async function sha256(data: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', data));
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** The canonical bytes of an entry without its hash: its fields by number, leaving out default values, then 0. */
export function canonicalBytes(entry: AuditEntry): Bytes {
  const parts: Uint8Array[] = [];
  const addField = (field: number, ...value: Uint8Array[]) => parts.push(numberBytes(BigInt(field)), numberBytes(1n), ...value);
  const addNumber = (field: number, value: bigint) => { if (value !== 0n) addField(field, numberBytes(value)); };
  const addBytes = (field: number, value: Uint8Array) => { if (value.length > 0) addField(field, numberBytes(BigInt(value.length)), value); };
  addNumber(1, entry.sequence);
  [entry.day, entry.actor, entry.action, entry.resource, entry.related, entry.outcome].forEach((text, i) => addBytes(2 + i, encoder.encode(text)));
  addNumber(8, entry.epsilonNanos);
  addNumber(9, entry.deltaAtto);
  addBytes(10, entry.ledgerLink);
  parts.push(numberBytes(0n));
  return join(parts);
}

/** What an entry's hash must be after `previous`. */
export async function hashOf(entry: AuditEntry, previous: Uint8Array): Promise<Bytes> {
  return sha256(join([encoder.encode(ENTRY_DOMAIN), new Uint8Array(1), previous, await sha256(canonicalBytes(entry))]));
}

/** Follows entries one after the other from a known place. */
export class AuditChain {
  #hash: Uint8Array;
  #next: bigint;

  constructor(start: {entries: bigint; hash: Uint8Array}) {
    this.#next = start.entries;
    this.#hash = start.hash.length === 0 ? new Uint8Array(32) : start.hash;
  }

  get next(): bigint {
    return this.#next;
  }

  /** Returns null, or what does not hold. */
  async add(entry: AuditEntry): Promise<string | null> {
    if (entry.sequence !== this.#next) return `Entry ${this.#next} is missing: the daemon answered entry ${entry.sequence} in its place.`;
    if (!isEqual(await hashOf(entry, this.#hash), entry.hash)) return `The hash of entry ${entry.sequence} does not fit what it says and what comes before it.`;
    this.#hash = entry.hash;
    ++this.#next;
    return null;
  }

  /** Whether the chain has reached `head`. */
  reaches(head: AuditHead): boolean {
    return this.#next === head.entries && (head.entries === 0n || isEqual(this.#hash, head.hash));
  }
}

export type SignatureState = 'holds' | 'broken' | 'absent' | 'cannot be verified here';

/** Whether the head's own key signed it. The caller must know whose key that is. */
export async function verifyHead({entries, hash, signature}: AuditHead): Promise<SignatureState> {
  if (signature === undefined || signature.signature.length === 0) return 'absent';
  const told = join([encoder.encode(HEAD_DOMAIN), new Uint8Array(1), numberBytes(entries), hash]);
  try {
    const key = await crypto.subtle.importKey('raw', new Uint8Array(signature.key), 'Ed25519', false, ['verify']);
    return await crypto.subtle.verify('Ed25519', key, new Uint8Array(signature.signature), told) ? 'holds' : 'broken';
  } catch {
    return 'cannot be verified here';
  }
}

/** The first 16 bytes of the key's SHA-256, which identify keys. */
export async function keyId(key: Uint8Array): Promise<Bytes> {
  return (await sha256(new Uint8Array(key))).slice(0, 16);
}
