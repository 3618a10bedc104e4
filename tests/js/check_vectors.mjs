// Runs one file of tests/vectors through the module of vector_checks.cc, in Node or in a page.

/** Known bytes: `prefix`, then the blocks SHA-256(seed || counter), counter = 0, 1, ... in 8 bytes, big-endian. */
class KnownBytes {
  #pending;
  #counter = 0n;

  constructor(prefix, seed, sha256) {
    this.#pending = prefix;
    this.take = size => {
      while (this.#pending.length < size) {
        const block = new Uint8Array(seed.length + 8);
        block.set(seed);
        new DataView(block.buffer).setBigUint64(seed.length, this.#counter++);
        this.#pending = joined(this.#pending, sha256(block));
      }
      const taken = this.#pending.slice(0, size);
      this.#pending = this.#pending.slice(size);
      return taken;
    };
  }
}

function joined(one, other) {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

// The vectors were made by OpenSSL's filling, which draws blocks of this size, and gives up the end of a block that is
// shorter than the longest draw. A page draws nothing ahead, so that is done here.
const BLOCK = 16_384, LONGEST_DRAW = 8;

export async function makeChecker(wasm, {cryptoImports}) {
  let memory, known, left = 0;
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size);
  const imports = cryptoImports(bytes, to => {
    if (to.length <= LONGEST_DRAW) {
      if (left < LONGEST_DRAW) {
        known.take(left);
        left = BLOCK;
      }
      left -= to.length;
    }
    to.set(known.take(to.length));
  });
  const sha256 = from => {
    const at = exports.take_memory(from.length + 32);
    bytes(at, from.length).set(from);
    imports.sha256(at, from.length, at + from.length);
    return bytes(at + from.length, 32).slice();
  };
  const {exports} = await WebAssembly.instantiate(await WebAssembly.compile(wasm), {
    coppice: {
      ...imports,
      stream: (prefix, prefixSize, seed, seedSize) => {
        known = new KnownBytes(bytes(prefix, prefixSize).slice(), bytes(seed, seedSize).slice(), sha256);
        left = BLOCK;
      },
    },
    env: {emscripten_notify_memory_growth: () => undefined},
    wasi_snapshot_preview1: new Proxy({}, {get: (_, name) => () => {
      throw new Error(`the module calls ${String(name)}`);
    }}),
  });
  memory = exports.memory;
  exports._initialize();
  const text = from => {
    const utf8 = new TextEncoder().encode(`${from}\0`);
    const at = exports.take_memory(utf8.length);
    bytes(at, utf8.length).set(utf8);
    return at;
  };
  /**
   * How many cases a file has, and those that do not hold. Cases with `start` are left out: they are about draws at the very
   * end of a block of OpenSSL's, and a page has no blocks.
   */
  return (name, json) => {
    const file = JSON.parse(json);
    if (file.mechanism !== undefined) file.cases = file.cases.filter(({start}) => start === undefined);
    const at = exports.check(text(name), text(JSON.stringify(file)));
    const all = new Uint8Array(memory.buffer);
    const [cases, ...wrong] = new TextDecoder().decode(all.subarray(at, all.indexOf(0, at))).split('\n');
    return {cases: Number(cases), wrong};
  };
}
