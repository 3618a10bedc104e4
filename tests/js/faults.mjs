// Devices whose storage and network fail at random moments, for device_test.js: node faults.mjs JSON. Each goes on until its
// report was delivered. Prints the seed, which COPPICE_SEED repeats.

import path from 'node:path';
import {pathToFileURL} from 'node:url';

const {ConnectCarrier, CoppiceError, Device} = await import(pathToFileURL(path.join(process.env.COPPICE_JS_DIR, 'dist/coppice-device.js')));
const {curator, key, study, row, schedules, seed} = JSON.parse(process.argv[2]);
console.log(`seed ${seed}`);

/** Mulberry32: numbers in [0, 1) that a seed repeats. */
let state = seed >>> 0;
function draw() {
  state = (state + 0x6d2b79f5) >>> 0;
  let word = Math.imul(state ^ (state >>> 15), state | 1);
  word = (word + Math.imul(word ^ (word >>> 7), word | 61)) ^ word;
  return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
}

/** What a disk has, and keepers that look at it, of which each may fail. */
class Disk {
  bytes = new Uint8Array();
  version = 0;

  keeper() {
    let version = this.version;
    return {
      read: async () => this.bytes,
      close: () => undefined,
      write: async ({replaces, bytes}) => {
        if (version !== this.version) throw new CoppiceError('unavailable', 'another one wrote');
        const fails = draw();
        if (fails < 0.15) throw new CoppiceError('resource_exhausted', 'no room');
        this.bytes = Buffer.concat(replaces ? [bytes] : [this.bytes, bytes]);
        version = ++this.version;
        if (fails < 0.3) throw new CoppiceError('unavailable', 'nobody knows whether it was kept');
      },
    };
  }
}

const inner = new ConnectCarrier(curator, {tries: 1});
const carrier = {
  carry: async call => {
    const fails = draw();
    if (fails < 0.15) throw new CoppiceError('unavailable', 'lost on its way there');
    const response = await inner.carry(call);
    if (fails < 0.3) throw new CoppiceError('unavailable', 'lost on its way back');
    return response;
  },
};

let failures = 0;
for (let i = 0; i < schedules; ++i) {
  const disk = new Disk();
  for (let delivered = false, tries = 0; !delivered; ++tries) {
    if (tries === 200) throw new Error(`schedule ${i} does not end`);
    try {
      const device = await Device.open({journal: disk.keeper(), curatorKey: key});
      const outcome = await device.visit({curator, study, row, carrier});
      delivered = outcome.answer.code === 'ok' && (await device.state()).waiting === 0;
      device.close();
    } catch (error) {
      if (!(error instanceof CoppiceError) || error.code === 'internal') throw error;
      ++failures;
    }
  }
}
console.log(`${failures} devices ended by a failed write`);
