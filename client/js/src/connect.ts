import {CODES, CoppiceError, type Code} from './errors.js';

/** What a visit asks to carry. */
export interface Call {
  /** "/coppice.v1.StudyService/GetOffer". */
  readonly method: string;
  /** A serialized message. */
  readonly request: Uint8Array;
  /** Whether it is the one call with which a relay's token is shown. */
  readonly takesTicket: boolean;
}

/** Moves bytes to a curator or a relay, and decides nothing. */
export interface Carrier {
  /** The response, a serialized message. Throws CoppiceError after all its tries. */
  carry(call: Call, signal?: AbortSignal): Promise<Uint8Array>;
}

export interface ConnectOptions {
  /** Shown with every call to a curator, and to a relay with the call that takes a ticket alone. */
  token?: string;
  /** In the place of the platform's, for instance with a dispatcher that knows your authority. */
  fetch?: typeof fetch;
  /** How long each try may take, in milliseconds; 30,000. */
  timeout?: number;
  /** How many tries a call has; 4. */
  tries?: number;
}

const MOST_RESPONSE_BYTES = 64 << 20; // COPPICE_MAX_RESPONSE_BYTES
const FIRST_WAIT = 500, LONGEST_WAIT = 8000; // milliseconds

function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(done);
      reject(new CoppiceError('canceled', 'the visit was ended'));
    }, {once: true});
  });
}

/** How long the server asked to wait, in milliseconds; undefined if it wants no further try. */
function pushback(response: Response, code: Code): number | undefined {
  if (!['unavailable', 'deadline_exceeded', 'resource_exhausted', 'aborted'].includes(code)) return undefined;
  const asked = response.headers.get('trailer-grpc-retry-pushback-ms') ?? undefined;
  if (asked !== undefined) return Number(asked) >= 0 ? Number(asked) : undefined;
  const after = response.headers.get('retry-after') ?? undefined;
  if (after !== undefined && Number(after) >= 0) return Number(after) * 1000;
  return code === 'resource_exhausted' ? undefined : 0; // a limit that stays
}

/** What came of one try; `again` is how many milliseconds to wait before the next, if one makes sense. */
type Try = {body: Uint8Array} | {error: CoppiceError; again: number | undefined};

async function readAll(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  while (reader !== undefined) {
    const {done, value} = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_RESPONSE_BYTES) {
      await reader.cancel();
      throw new CoppiceError('resource_exhausted', 'the response is longer than any that the library takes');
    }
    parts.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The code that an error's body says; a proxy says none. */
function codeIn(body: Uint8Array): {code: Code; message: string} {
  try {
    const {code, message} = JSON.parse(new TextDecoder().decode(body));
    return {code: CODES.includes(code) ? code : 'unknown', message: String(message ?? '')};
  } catch {
    return {code: 'unavailable', message: 'an answer that is not the server\'s own, perhaps a proxy\'s'};
  }
}

/**
 * Carries calls by fetch(), in the Connect protocol, to a daemon's or a relay's `--http-listen`.
 *
 * No cookie and no referrer goes along, nothing is cached and no redirect is followed. A page reaches only a server that
 * names the page's origin in `--http-allow-origin`.
 */
export class ConnectCarrier implements Carrier {
  readonly #origin: string;

  /** `url` is "https://HOST:PORT". */
  constructor(url: string, private readonly options: ConnectOptions = {}, private readonly isRelay = false) {
    this.#origin = new URL(url).origin;
  }

  async carry(call: Call, signal?: AbortSignal): Promise<Uint8Array> {
    for (let tries = 1, ceiling = FIRST_WAIT; ; ++tries, ceiling = Math.min(ceiling * 2, LONGEST_WAIT)) {
      const tried = await this.#once(call, signal);
      if ('body' in tried) return tried.body;
      if (tried.again === undefined || tries >= (this.options.tries ?? 4)) throw tried.error;
      // Random, so that pages that lost a server together do not come back together.
      await wait(tried.again + ceiling * Math.random(), signal);
    }
  }

  async #once(call: Call, signal: AbortSignal | undefined): Promise<Try> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), this.options.timeout ?? 30_000);
    const end = () => stop.abort();
    signal?.addEventListener('abort', end);
    try {
      const response = await (this.options.fetch ?? globalThis.fetch)(this.#origin + call.method, {
        method: 'POST',
        headers: this.#headers(call),
        body: call.request as Uint8Array<ArrayBuffer>,
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
        signal: stop.signal,
      });
      const body = await readAll(response);
      if (response.status === 200) return {body};
      const {code, message} = codeIn(body);
      return {error: new CoppiceError(code, `${this.#origin}: ${message}`), again: pushback(response, code)};
    } catch (cause) {
      if (cause instanceof CoppiceError) return {error: cause, again: undefined};
      if (signal?.aborted) return {error: new CoppiceError('canceled', 'the visit was ended', {cause}), again: undefined};
      const error = stop.signal.aborted
        ? new CoppiceError('deadline_exceeded', `${this.#origin} did not answer in time`, {cause})
        : new CoppiceError('unavailable',
          `${this.#origin} could not be asked: is it running, is its certificate trusted here, and does it allow this page's origin?`, {cause});
      return {error, again: 0};
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  #headers(call: Call): Record<string, string> {
    const headers: Record<string, string> = {'Content-Type': 'application/proto', 'Connect-Protocol-Version': '1'};
    if (this.options.token !== undefined && (!this.isRelay || call.takesTicket)) {
      headers['Authorization'] = `Bearer ${this.options.token}`;
    }
    return headers;
  }
}
