// A survey that answers a study. Everything that protects the person is done by the library; this page shows and asks.

import {ConnectCarrier, Device, IndexedDbJournal} from './coppice-device.js';

const TOTAL_EPSILON = 4; // what this site asks of one person, in all its studies together
const config = JSON.parse(document.getElementById('study').textContent);
const element = id => document.getElementById(id);
const form = element('survey');

let device, terms;

function problem(error) {
  element('problem').textContent = error.message;
  element('problem').hidden = false;
}

/** What went out during a visit: the calls, and how long each message was. */
class NotingCarrier {
  calls = [];
  #inner = new ConnectCarrier(config.curator);

  async carry(call, signal) {
    const response = await this.#inner.carry(call, signal);
    this.calls.push(`${call.method.split('/').at(-1)} (${call.request.length} bytes)`);
    return response;
  }
}

async function open() {
  device?.close();
  const journal = await IndexedDbJournal.open();
  element('kept').textContent = journal.persisted
    ? 'Your browser remembers that you have answered until you clear this site’s data.'
    : 'Your browser may forget that you have answered, for instance when it needs space. The promise of one answer holds only while it keeps this site’s data.';
  device = await Device.open({journal, curatorKey: config.curatorKey, maxTotalEpsilon: TOTAL_EPSILON});
}

function numbers(value) {
  return value.toLocaleString(undefined, {maximumFractionDigits: 2});
}

async function show(calls = []) {
  const [state, history] = [await device.state(), await device.history()];
  element('total').textContent = numbers(TOTAL_EPSILON);
  element('spent').textContent = numbers(state.spentEpsilon);
  element('left').textContent = numbers(state.leftEpsilon);
  element('opted').textContent = state.optedOut
    ? 'You opted out. This browser answers nothing and sends nothing.'
    : 'You may leave at any time. After that this browser answers nothing and sends nothing that still waits.';
  element('opt').textContent = state.optedOut ? 'Opt in again' : 'Opt out';
  element('opt').disabled = false;
  const items = history.map(answer => {
    const what = answer.final ? 'sent' : `a random message of ${answer.payload.length} bytes waits to be sent`;
    return `Study “${answer.study}”, for ε = ${numbers(answer.epsilon)}: ${what}.`;
  });
  if (calls.length > 0) items.push(`Just now this page called ${calls.join(', ')}.`);
  element('history').replaceChildren(...(items.length > 0 ? items : ['Nothing yet.']).map(text => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
  const answered = history.some(answer => answer.study === config.study);
  element('questions').disabled = state.optedOut || answered || terms === undefined;
  return {answered, ...state};
}

/** Asks what the study is, and answers nothing: the person decides. */
async function look() {
  const outcome = await device.visit({
    curator: config.curator, study: config.study, row: {},
    review: offered => {
      terms = offered;
      return false;
    },
  });
  if (terms === undefined) throw new Error(outcome.problems[0]?.message ?? outcome.answer.message);
  element('asked').textContent = `The study “${terms.study}” asks for one message with ε = ${numbers(terms.epsilon)}. At that number nobody who sees it can `
    + `raise the odds of any guess about you by more than ${numbers(Math.exp(terms.epsilon))} times.`;
}

async function deliver() {
  const carrier = new NotingCarrier();
  await device.visit({curator: config.curator, carrier});
  return carrier.calls;
}

async function answer() {
  const values = Object.fromEntries(new FormData(form));
  const row = {...values, age: values.age === '' ? null : Number(values.age), sleep: values.sleep === '' ? null : Number(values.sleep)};
  for (const name of ['exercise', 'smokes', 'stressed']) row[name] ||= null;
  const carrier = new NotingCarrier();
  const outcome = await device.visit({
    curator: config.curator, study: config.study, carrier, row,
    // Nothing but what the person was shown.
    review: offered => JSON.stringify(offered) === JSON.stringify(terms),
  });
  if (outcome.answer.code !== 'ok') throw new Error(outcome.problems[0]?.message ?? outcome.answer.message);
  form.reset();
  return carrier.calls;
}

/** Runs what the person asked for, and opens the device anew where it ended. */
async function run(work) {
  element('problem').hidden = true;
  element('questions').disabled = true;
  try {
    await show(await work());
  } catch (error) {
    problem(error);
    await open().then(() => show()).catch(problem);
  }
  document.body.dataset.ready = 'yes';
}

async function begin() {
  await open();
  const {answered, optedOut, waiting} = await show();
  if (optedOut) return [];
  if (waiting > 0) return deliver();
  if (!answered) await look();
  return [];
}

form.addEventListener('submit', event => {
  event.preventDefault();
  delete document.body.dataset.ready;
  void run(answer);
});
element('opt').addEventListener('click', () => {
  delete document.body.dataset.ready;
  void run(async () => {
    const {optedOut} = await device.state();
    await device.optOut(!optedOut);
    if (optedOut) return begin();
    return [];
  });
});
// A page that comes back from the browser's cache does not know what other pages did meanwhile.
addEventListener('pageshow', event => {
  if (event.persisted) location.reload();
});

void run(begin);
