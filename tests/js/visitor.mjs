// A device in Node, for device_test.js: node visitor.mjs JSON. It prints what came of the visit.
//
//   folder, curator, key, study, row    of the device
//   relay, relayKey, token, maxSendDelaySeconds   of a visit to a relay, in the place of `curator`
//   stopAt                              kills its own process at this event: before and after each write and each call
//   waitFor                             a file to wait for, when the device is open; it prints "open" then

import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const dist = path.join(process.env.COPPICE_JS_DIR, 'dist');
const {ConnectCarrier, Device} = await import(pathToFileURL(path.join(dist, 'coppice-device.js')));
const {FolderJournal} = await import(pathToFileURL(path.join(dist, 'node.js')));
const options = JSON.parse(process.argv[2]);

let events = 0;
const event = () => {
  if (events++ === options.stopAt) process.kill(process.pid, 'SIGKILL');
};
const around = async work => {
  event();
  const result = await work();
  event();
  return result;
};

const folder = await FolderJournal.open(options.folder);
const journal = {
  read: () => folder.read(),
  write: write => around(() => folder.write(write)),
  close: () => folder.close(),
};
const {curator, relay, study, row = {}} = options;
const inner = new ConnectCarrier(relay ?? curator, {tries: 1, token: options.token}, relay !== undefined);
const carrier = {carry: (call, signal) => around(() => inner.carry(call, signal))};

const device = await Device.open({journal, curatorKey: options.key, relayKey: options.relayKey, maxSendDelaySeconds: options.maxSendDelaySeconds});
if (options.waitFor !== undefined) {
  console.log('open');
  while (!fs.existsSync(options.waitFor)) await new Promise(resolve => setTimeout(resolve, 20));
}
try {
  const outcome = await device.visit({curator, relay, study, carrier, row});
  const [state, history] = [await device.state(), await device.history()];
  console.log(JSON.stringify({events, answer: outcome.answer, answeredNow: outcome.answeredNow, delivered: outcome.delivered, stored: outcome.stored,
    problems: outcome.problems.map(problem => problem.message), state, studies: history.map(answer => answer.study)}));
} catch (error) {
  console.log(JSON.stringify({events, error: error.code, message: error.message}));
}
