import assert from 'node:assert/strict';
import test from 'node:test';
import {MechanismSchema, ReportOutcomeSchema} from 'proto/study_pb';
import {JobStateSchema} from 'proto/training_pb';
import {meaningOf, nameOf, wordOf} from './enums';

test('a value has the name that commands print, and as a word it has blanks', () => {
  assert.equal(nameOf(MechanismSchema, 5), 'subset_selection');
  assert.equal(wordOf(ReportOutcomeSchema, 6), 'bad ticket');
});

test('a value that only a newer daemon knows stays a number', () => {
  assert.equal(nameOf(JobStateSchema, 99), '99');
  assert.equal(meaningOf(JobStateSchema, 99), 'This console does not know it.');
});

test('every value says what it means', () => {
  for (const type of [ReportOutcomeSchema, JobStateSchema, MechanismSchema]) {
    for (const {number} of type.values) {
      if (number > 0) assert.match(meaningOf(type, number), /^[A-Z].*\.$/, `${type.typeName} ${number}`);
    }
  }
});
