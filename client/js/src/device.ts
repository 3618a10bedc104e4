import {ConnectCarrier, type Call, type Carrier, type ConnectOptions} from './connect.js';
import {Core} from './core.js';
import {CoppiceError, codeOf, type Code} from './errors.js';
import type {JournalKeeper, JournalWrite} from './journal.js';
import {readTerms, setRow, type Row, type Terms} from './terms.js';

/** A column of the device's own rows, as its owner declares it. */
export type OwnColumn =
  | {name: string; kind: 'number'; min: number; max: number; whole?: boolean; unit?: string}
  | {name: string; kind: 'category'; values: readonly string[]}
  | {name: string; kind: 'class'; values: readonly string[]}
  | {name: string; kind: 'target'; min: number; max: number; unit?: string};

/** What the owner agrees to. Each is as in coppice_device.h, and what is left out has that library's default. */
export interface DeviceOptions {
  journal: JournalKeeper;
  /** The curator's Ed25519 public key, "ed25519:..." or PEM. Without it set `requirePin` to false. */
  curatorKey?: string;
  requirePin?: boolean;
  /** The most epsilon of one report; 4. */
  maxEpsilon?: number;
  /** Of all reports together; 8. Infinity: no limit. */
  maxTotalEpsilon?: number;
  /** Of a report that goes to the curator itself; `maxEpsilon`. */
  maxEpsilonDirect?: number;
  /** Fewest reports that a model may be built from. */
  minReports?: number;
  /** Reports that wait for delivery; 100. */
  maxWaiting?: number;
  /** The journal's size; 256 kB. */
  maxJournalBytes?: number;
  maxOfferBytes?: number;
  /** Names of features that may be sent in the clear, and of ids by which studies may join. */
  shows?: readonly string[];
  joinIds?: readonly string[];
  ownColumns?: readonly OwnColumn[];
  /** The relay's Ed25519 public key, from a source that the curator does not control. */
  relayKey?: string;
  minBatch?: number;
  maxSendDelaySeconds?: number;
  /** Seconds since 1970; the platform's clock. */
  clock?: () => number;
}

export interface DeviceState {
  answers: number;
  waiting: number;
  spentEpsilon: number;
  /** Infinity without a limit. */
  leftEpsilon: number;
  journalBytes: number;
  optedOut: boolean;
}

export interface Answer {
  study: string;
  epsilon: number;
  /** Counted, refused for good, given up, or past the end of its deal: what was sent is not kept. */
  final: boolean;
  /** What will be sent: the randomized report or, where `sealed`, an encrypted one. Null once it is final. */
  payload: Uint8Array | null;
  sealed: boolean;
  /** To whom: the key that trust in the curator began with. Null if the journal does not know it. */
  curatorKey: Uint8Array | null;
}

interface VisitTo {
  /** Where the curator is reached, "https://HOST:PORT"; or the relay that stands before it. */
  curator?: string;
  relay?: string;
  /** 32 bytes where the study asks for a token. Never in a visit to a relay. */
  submissionToken?: Uint8Array;
  /** How calls get there; by default fetch() with `connect`. */
  carrier?: Carrier;
  connect?: ConnectOptions;
  /** Ends the visit. What is in the journal is sent by a later one. */
  signal?: AbortSignal;
}
/** A visit that answers a study, or one that only delivers what waits. */
export type VisitOptions = VisitTo & (
  | {
      study: string;
      /** Asked once, before the row is read: whether to answer. It must not look at the row, and must not wait. */
      review?: (terms: Terms) => boolean;
      /** The row, or how to read it when nothing can decline any more. There is a report whatever it has. */
      row: Row | ((terms: Terms) => Row);
    }
  | {study?: undefined}
);

export interface Outcome {
  /** `ok`: the study has an answer in the journal, from now or before, or none was asked for. */
  answer: {code: Code; message: string};
  answeredNow: boolean;
  delivered: number;
  refused: number;
  unknown: number;
  ofOtherCurators: number;
  /** Of a visit to a relay: on its disk; lost for good; waiting for others. */
  stored: number;
  lost: number;
  ofOthers: number;
  loss: {code: Code; message: string};
  clockBehindSeconds: number;
  /** What went wrong on the way. */
  problems: Error[];
}

const MOST_TRIES = 5;
const NANOS = 1e9;
const NO_LIMIT = 0xffff_ffff_ffff_ffffn;
const KINDS = {number: 1, category: 2, class: 3, target: 4};

function nanos(epsilon: number): bigint {
  return epsilon === Infinity ? 0n : BigInt(Math.round(epsilon * NANOS));
}

function epsilonOf(nanos: bigint): number {
  return nanos === NO_LIMIT ? Infinity : Number(nanos) / NANOS;
}

/** By which the journal knows a server. */
function hostAndPort(url: string): string {
  const {hostname, port, protocol} = new URL(url);
  return `${hostname}:${port || (protocol === 'http:' ? '80' : '443')}`;
}

/**
 * One device: one private row, and at most one randomized report about it per study.
 *
 * Guarantee  that of coppice_device.h, whose library this is: all that it checks, draws and remembers is done there. Before
 *            anything leaves that a step of it made, what the step wrote is durable in the journal. Random bytes are drawn
 *            when they are used, from crypto.getRandomValues.
 * Errors     CoppiceError. After a write that failed, or a fault of the module, the device is closed: open it again.
 *
 * A page gives this to the person who uses it, and the page is the server's: see docs/threat-model.md.
 */
export class Device {
  readonly #core: Core;
  readonly #journal: JournalKeeper;
  readonly #written: JournalWrite[];
  readonly #callbacks: DeviceCallbacks;
  #device = 0;
  #isOpen = false;
  #broken: Error | undefined;
  #tail: Promise<unknown> = Promise.resolve(); // the last step

  private constructor(core: Core, journal: JournalKeeper, written: JournalWrite[], callbacks: DeviceCallbacks) {
    this.#core = core;
    this.#journal = journal;
    this.#written = written;
    this.#callbacks = callbacks;
  }

  static async open(options: DeviceOptions): Promise<Device> {
    // Opening a journal may write, to make it or to forget what is final. Where another page did so first, it is read again.
    for (let tries = 1; ; ++tries) {
      try {
        return await Device.#openOnce(options);
      } catch (error) {
        if ((error as CoppiceError).code === 'aborted' && tries < MOST_TRIES) continue;
        options.journal.close();
        throw error;
      }
    }
  }

  static async #openOnce(options: DeviceOptions): Promise<Device> {
    const written: JournalWrite[] = [];
    const callbacks = new DeviceCallbacks(options.clock ?? (() => Date.now() / 1000));
    const core = await Core.make({
      clock: () => callbacks.clock(),
      write: (replaces, bytes) => void written.push({replaces, bytes}),
      review: terms => callbacks.review(readTerms(core, terms)),
      readRow: (terms, row) => callbacks.readRow(core, terms, row),
      answer: ({epsilonNanos, ...answer}) => void callbacks.answers.push({...answer, epsilon: epsilonOf(epsilonNanos)}),
    });
    const device = new Device(core, options.journal, written, callbacks);
    const kept = await options.journal.read();
    await device.#step(() => {
      device.#device = openIn(core, options, kept);
    });
    device.#isOpen = true;
    return device;
  }

  /** What was answered and what is left of the person's epsilon. */
  state(): Promise<DeviceState> {
    return this.#step(() => this.#core.lend(({room}) => {
      const at = room(6 * 8);
      this.#core.check('device_state', this.#device, at);
      const [answers, waiting, spent, left, bytes, optedOut] = this.#core.numbers(at, 6).map(number => BigInt.asUintN(64, number));
      return {answers: Number(answers), waiting: Number(waiting), spentEpsilon: epsilonOf(spent!), leftEpsilon: epsilonOf(left!),
        journalBytes: Number(bytes), optedOut: optedOut !== 0n};
    }));
  }

  /** Each answer, oldest first: for showing the person what was spent on what, and what was sent. */
  history(): Promise<Answer[]> {
    return this.#step(() => {
      this.#callbacks.answers = [];
      this.#core.check('device_history', this.#device);
      return this.#callbacks.answers;
    });
  }

  /** The person's word, which outlives the page: after it nothing is answered, and nothing that waits is sent. */
  optOut(optedOut = true): Promise<void> {
    return this.#step(() => this.#core.check('device_opt_out', this.#device, optedOut ? 1 : 0));
  }

  /** Ends the waiting of an answer. What it cost stays spent. */
  giveUp(study: string): Promise<void> {
    return this.#step(() => this.#core.lend(({text}) => this.#core.check('device_give_up', this.#device, text(study))));
  }

  /** Answers a study, and delivers what waits. One visit at a time. */
  async visit(options: VisitOptions): Promise<Outcome> {
    const server = options.relay ?? options.curator;
    if (server === undefined) throw new CoppiceError('invalid_argument', 'a visit needs `curator` or `relay`, "https://HOST:PORT"');
    const carrier = options.carrier ?? new ConnectCarrier(server, options.connect, options.relay !== undefined);
    const problems: Error[] = [];
    const visit = await this.#step(() => this.#openVisit(options));
    try {
      await this.#carryAll(visit, carrier, options.signal, problems);
      return await this.#step(() => this.#outcomeOf(visit, [...problems, ...this.#callbacks.takeProblems()]));
    } finally {
      await this.#step(() => void this.#core.call('visit_close', visit)).catch(() => undefined);
    }
  }

  /** Ends its use of the journal. What waits is sent by a later visit. */
  close(): void {
    this.#break(new CoppiceError('failed_precondition', 'the device is closed'));
  }

  #openVisit(options: VisitOptions): number {
    this.#callbacks.review = options.study === undefined ? () => true : options.review ?? (() => true);
    this.#callbacks.row = options.study === undefined ? {} : options.row;
    return this.#core.lend(({text, bytes}) => this.#core.make('visit_open', this.#device,
      options.curator === undefined ? 0 : text(hostAndPort(options.curator)),
      options.relay === undefined ? 0 : text(hostAndPort(options.relay)),
      options.study === undefined ? 0 : text(options.study),
      options.submissionToken === undefined ? 0 : bytes(token(options.submissionToken))));
  }

  async #carryAll(visit: number, carrier: Carrier, signal: AbortSignal | undefined, problems: Error[]): Promise<void> {
    while (signal?.aborted !== true) {
      const next = await this.#step(() => this.#next(visit)).catch((error: unknown) => this.#note(error, problems));
      if (next === undefined || next === null) return;
      if (next.wait > 0) {
        // The library says what is left of it, and whether there is still something to send.
        await new Promise(resolve => setTimeout(resolve, Math.min(next.wait, 1000)));
        continue;
      }
      const carried = await carrier.carry(next.call, signal).catch((error: unknown) => error);
      if (signal?.aborted) return;
      await this.#step(() => {
        if (carried instanceof Uint8Array) {
          this.#core.lend(({bytes}) => this.#core.check('visit_take', visit, bytes(carried), carried.length));
        } else {
          problems.push(carried as Error);
          this.#core.call('visit_fail', visit, numberOf(carried));
        }
      }).catch((error: unknown) => this.#note(error, problems));
    }
  }

  /** An error of one step, which the outcome tells of; a device that broke ends the visit. */
  #note(error: unknown, problems: Error[]): undefined {
    if (this.#broken !== undefined) throw error;
    problems.push(error as Error);
  }

  #next(visit: number): {call: Call; wait: number} | null {
    this.#core.check('visit_next', visit);
    const method = this.#core.text(this.#core.call('call_method'));
    if (method === null) return null;
    return {
      wait: this.#core.call('call_wait'),
      call: {
        method,
        request: this.#core.bytes(this.#core.call('call_request'), this.#core.call('call_request_size')),
        takesTicket: this.#core.call('call_takes_ticket') === 1,
      },
    };
  }

  #outcomeOf(visit: number, problems: Error[]): Outcome {
    return this.#core.lend(({room}) => {
      const at = room(10 * 8);
      const code = codeOf(this.#core.call('visit_outcome', visit, at));
      const [answeredNow, delivered, refused, unknown, ofOtherCurators, clockBehindSeconds, stored, lost, ofOthers, loss] =
        this.#core.numbers(at, 10).map(Number) as [number, number, number, number, number, number, number, number, number, number];
      return {
        answer: {code, message: this.#core.text(this.#core.call('outcome_answer')) ?? ''},
        answeredNow: answeredNow === 1, delivered, refused, unknown, ofOtherCurators, clockBehindSeconds, stored, lost, ofOthers,
        loss: {code: codeOf(loss), message: this.#core.text(this.#core.call('outcome_loss')) ?? ''},
        problems,
      };
    });
  }

  /**
   * Runs one step of the module after those before it, and waits until what it wrote is durable. Nothing that it returns,
   * a call to carry above all, is seen by anybody before.
   */
  #step<Result>(work: () => Result): Promise<Result> {
    const done = this.#tail.then(async () => {
      if (this.#broken !== undefined) throw this.#broken;
      try {
        return work();
      } catch (error) {
        if (!(error instanceof CoppiceError)) throw this.#break(fault(error));
        throw error;
      } finally {
        await this.#keep();
      }
    });
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #keep(): Promise<void> {
    for (let write = this.#written.shift(); write !== undefined; write = this.#written.shift()) {
      if (this.#broken !== undefined) continue;
      try {
        await this.#journal.write(write);
      } catch (error) {
        this.#written.length = 0;
        throw this.#break(error as Error);
      }
    }
  }

  #break(error: Error): Error {
    this.#broken ??= error;
    if (this.#isOpen) this.#journal.close();
    return this.#broken;
  }
}

/** What the module asks while a step runs. */
class DeviceCallbacks {
  answers: Answer[] = [];
  row: Row | ((terms: Terms) => Row) = {};
  #review: (terms: Terms) => boolean = () => true;
  #problems: Error[] = [];

  constructor(readonly clock: () => number) {}

  set review(review: (terms: Terms) => boolean) {
    this.#review = review;
  }
  get review(): (terms: Terms) => boolean {
    return terms => {
      try {
        return this.#review(terms) === true;
      } catch (error) {
        this.#problems.push(error as Error);
        return false;
      }
    };
  }

  /** There is a report whatever happens here: silence would show whose row throws. */
  readRow(core: Core, terms: number, row: number): void {
    try {
      setRow(core, row, typeof this.row === 'function' ? this.row(readTerms(core, terms)) : this.row);
    } catch (error) {
      this.#problems.push(error as Error);
    }
  }

  takeProblems(): Error[] {
    return this.#problems.splice(0);
  }
}

function token(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 32) return bytes;
  throw new CoppiceError('invalid_argument', 'a submission token has 32 bytes');
}

function numberOf(error: unknown): number {
  const codes: Code[] = Array.from({length: 17}, (_, i) => codeOf(i));
  const number = error instanceof CoppiceError ? codes.indexOf(error.code) : 2;
  return number > 0 ? number : 2;
}

function fault(cause: unknown): CoppiceError {
  return new CoppiceError('internal', 'the module stopped, perhaps for want of memory; open the device again', {cause});
}

/** Opens the device in the module over what its journal has. */
function openIn(core: Core, options: DeviceOptions, kept: Uint8Array): number {
  const settings = core.make('settings_new');
  try {
    return core.lend(({text, bytes}) => {
      const number = (name: string, value: number | bigint | undefined) => {
        if (value !== undefined) core.check('settings_number', settings, text(name), BigInt(value));
      };
      const set = (name: string, value: string | undefined) => {
        if (value !== undefined) core.check('settings_text', settings, text(name), text(value));
      };
      number('max_epsilon_nanos', options.maxEpsilon === undefined ? undefined : nanos(options.maxEpsilon));
      number('max_total_epsilon_nanos', options.maxTotalEpsilon === undefined ? undefined : nanos(options.maxTotalEpsilon));
      number('max_epsilon_direct_nanos', options.maxEpsilonDirect === undefined ? undefined : nanos(options.maxEpsilonDirect));
      number('min_reports', options.minReports);
      number('max_waiting', options.maxWaiting);
      number('max_journal_bytes', options.maxJournalBytes);
      number('max_offer_bytes', options.maxOfferBytes);
      number('min_batch', options.minBatch);
      number('max_send_delay_seconds', options.maxSendDelaySeconds);
      number('require_pin', options.requirePin === undefined ? undefined : Number(options.requirePin));
      set('curator_key', options.curatorKey);
      set('relay_key', options.relayKey);
      for (const name of options.shows ?? []) set('shows', name);
      for (const name of options.joinIds ?? []) set('join_ids', name);
      for (const column of options.ownColumns ?? []) {
        const {min, max, whole, unit, values} = {min: 0, max: 0, whole: false, unit: undefined, values: [], ...column} as
          {min: number; max: number; whole: boolean; unit: string | undefined; values: readonly string[]};
        core.call('settings_column', settings, text(column.name), KINDS[column.kind], min, max, whole ? 1 : 0,
          unit === undefined ? 0 : text(unit));
        for (const value of values) core.call('settings_value', settings, text(value));
      }
      return core.make('device_open', settings, bytes(kept), kept.length);
    });
  } finally {
    core.call('settings_free', settings);
  }
}
