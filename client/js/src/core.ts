// The WebAssembly module: texts and numbers cross its border here, and nowhere else.

import base64 from 'coppice-device-module';
import {cryptoImports, systemRandom} from './crypto.js';
import {CoppiceError, codeOf} from './errors.js';

/** What the module calls while a function of it runs. */
export interface Callbacks {
  /** Seconds since 1970. */
  clock: () => number;
  write: (replaces: boolean, bytes: Uint8Array) => void;
  review: (terms: number) => boolean;
  readRow: (terms: number, row: number) => void;
  answer: (answer: {study: string; epsilonNanos: bigint; final: boolean; payload: Uint8Array | null; sealed: boolean;
    curatorKey: Uint8Array | null}) => void;
}

type Export = (...values: (number | bigint)[]) => number & bigint;

let compiled: Promise<WebAssembly.Module> | undefined;

function compile(): Promise<WebAssembly.Module> {
  compiled ??= WebAssembly.compile(Uint8Array.from(atob(base64), letter => letter.charCodeAt(0)));
  return compiled;
}

/** One instance with memory of its own, for one device or one model. After a trap nothing of it may be used. */
export class Core {
  readonly #exports: Record<string, Export>;
  readonly #memory: WebAssembly.Memory;

  private constructor(instance: WebAssembly.Instance) {
    this.#exports = instance.exports as unknown as Record<string, Export>;
    this.#memory = instance.exports['memory'] as WebAssembly.Memory;
    (instance.exports['_initialize'] as () => void)();
  }

  static async make(callbacks: Callbacks): Promise<Core> {
    const [module, random] = await Promise.all([compile(), systemRandom()]);
    let core: Core | undefined;
    const memory: {held?: WebAssembly.Memory} = {};
    const bytes = (at: number, size: number) => new Uint8Array(memory.held!.buffer, at >>> 0, size);
    const instance = await WebAssembly.instantiate(module, {
      coppice: {
        ...cryptoImports(bytes, random),
        clock: () => BigInt(Math.floor(callbacks.clock())),
        write: (replaces: number, at: number, size: number) => callbacks.write(replaces === 1, bytes(at, size).slice()),
        review: (terms: number) => (callbacks.review(terms) ? 1 : 0),
        read_row: (terms: number, row: number) => callbacks.readRow(terms, row),
        answer: (study: number, epsilonNanos: bigint, final: number, payload: number, size: number, sealed: number, key: number) =>
          callbacks.answer({study: core!.text(study)!, epsilonNanos, final: final === 1, sealed: sealed === 1,
            payload: payload === 0 ? null : bytes(payload, size).slice(),
            curatorKey: key === 0 ? null : bytes(key, 32).slice()}),
      },
      env: {emscripten_notify_memory_growth: () => undefined},
      wasi_snapshot_preview1: {
        // Clock 0 is that of the wall; the others only have to run on.
        clock_time_get: (clock: number, _precision: bigint, to: number): number => {
          const milliseconds = clock === 0 ? Date.now() : performance.now();
          new DataView(memory.held!.buffer).setBigUint64(to, BigInt(Math.floor(milliseconds * 1e6)), true);
          return 0;
        },
        proc_exit: (code: number) => {
          throw new CoppiceError('internal', `the module stopped with code ${code}`);
        },
      },
    });
    memory.held = instance.exports['memory'] as WebAssembly.Memory;
    core = new Core(instance);
    return core;
  }

  call(name: string, ...values: (number | bigint)[]): number {
    return Number(this.#exports[name]!(...values));
  }
  callBig(name: string, ...values: (number | bigint)[]): bigint {
    return this.#exports[name]!(...values);
  }
  /** Calls a function that returns a code. */
  check(name: string, ...values: (number | bigint)[]): void {
    const code = this.call(name, ...values);
    if (code !== 0) throw this.error(code);
  }
  /** Calls a function that makes something. */
  make(name: string, ...values: (number | bigint)[]): number {
    const made = this.call(name, ...values);
    if (made === 0) throw this.error(this.call('error_code'));
    return made;
  }
  error(code: number): CoppiceError {
    return new CoppiceError(codeOf(code), this.text(this.call('error_text')) ?? '');
  }

  /** A copy of what is there. */
  bytes(at: number, size: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, at, size).slice();
  }
  numbers(at: number, count: number): bigint[] {
    const view = new DataView(this.#memory.buffer);
    return Array.from({length: count}, (_, i) => view.getBigInt64(at + 8 * i, true));
  }
  doubles(at: number, count: number): number[] {
    const view = new DataView(this.#memory.buffer);
    return Array.from({length: count}, (_, i) => view.getFloat64(at + 8 * i, true));
  }
  text(at: number): string | null {
    if (at === 0) return null;
    const memory = new Uint8Array(this.#memory.buffer);
    return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
  }

  /** Lends the module memory for texts and bytes while `use` runs. */
  lend<Result>(use: (lend: {text: (text: string) => number; bytes: (bytes: Uint8Array) => number; room: (size: number) => number}) => Result): Result {
    const lent: number[] = [];
    const room = (size: number): number => {
      const at = this.call('take_memory', Math.max(size, 1));
      if (at === 0) throw new CoppiceError('resource_exhausted', 'no memory');
      lent.push(at);
      return at;
    };
    const bytes = (from: Uint8Array): number => {
      const at = room(from.length);
      new Uint8Array(this.#memory.buffer, at, from.length).set(from);
      return at;
    };
    try {
      return use({room, bytes, text: text => bytes(new TextEncoder().encode(`${text.replaceAll('\0', '\ufffd')}\0`))});
    } finally {
      for (const at of lent) this.call('give_memory', at);
    }
  }
}
