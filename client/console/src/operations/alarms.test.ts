import assert from 'node:assert/strict';
import {test} from 'node:test';
import {readAlarm} from './alarms';

test('an alarm is what is wrong, what to do, and what it names', () => {
  const alarm = readAlarm('Ledgers are on hold, and no job is charged: datasets/a, datasets/b-2 and datasets/a. Confirm each head with coppice dataset confirm.');
  assert.equal(alarm.what, 'Ledgers are on hold, and no job is charged: datasets/a, datasets/b-2 and datasets/a.');
  assert.equal(alarm.advice, 'Confirm each head with coppice dataset confirm.');
  assert.deepEqual(alarm.names, [{kind: 'datasets', id: 'a'}, {kind: 'datasets', id: 'b-2'}]);
});

test('an alarm of one sentence has no advice, and addresses do not end it', () => {
  assert.deepEqual(readAlarm('The check store fails, and the daemon is not ready: 10.0.0.1 is gone'),
    {what: 'The check store fails, and the daemon is not ready: 10.0.0.1 is gone', advice: '', names: []});
});
