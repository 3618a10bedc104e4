import assert from 'node:assert/strict';
import {test} from 'node:test';
import {create} from '@bufbuild/protobuf';
import {Composition, DatasetSchema, LedgerEntryKind, LedgerEntrySchema, Neighbours} from 'proto/dataset_pb';
import {exactDelta, percentSpent, rho, shareOf, shortRho, SpenderSums} from './budget';
import {csvField, LedgerCsv} from './ledger_csv';

const entry = (kind: LedgerEntryKind, epsilonNanos: bigint, submitter = '', job = 'jobs/j') => create(LedgerEntrySchema, {kind, job, submitter, cost: {epsilonNanos}});

test('what is spent is never rounded to less', () => {
  assert.equal(percentSpent(1n, 3n), '33.4 %');
  assert.equal(percentSpent(3_999_999_999n, 4_000_000_000n), '100.0 %');
  assert.equal(percentSpent(0n, 4n), '0.0 %');
  assert.equal(percentSpent(1n, 0n), '–');
  assert.equal(shareOf(2n, 1n), 1);
});

test('tiny numbers are exact', () => {
  assert.equal(exactDelta(1n), '0.000000000000000001');
  assert.equal(exactDelta(10n ** 12n), '0.000001');
  assert.equal(exactDelta(0n), '0');
  assert.equal(rho(1_500_000_000_000n), '1.5');
  assert.equal(rho(1n), '0.000000000001');
  assert.equal(shortRho(5_337_110_733n), '0.005337111');
});

test('sums are exact where doubles are not, and count what was refunded', () => {
  const sums = new SpenderSums();
  sums.add(entry(LedgerEntryKind.OPENED, 0n));
  for (let i = 0; i < 10; ++i) sums.add(entry(LedgerEntryKind.RESERVED, 100_000_001n, 'ann'));
  sums.add(entry(LedgerEntryKind.SETTLED, 100_000_001n, 'ann'));
  sums.add(entry(LedgerEntryKind.RESERVED, 9_007_199_254_740_993n, 'bob'));
  sums.add(entry(LedgerEntryKind.RETURNED, 9_007_199_254_740_993n, 'bob'));
  sums.add(entry(LedgerEntryKind.WRITTEN_OFF, 5n, '', ''));
  const [ann, lost, bob] = sums.sorted();
  assert.deepEqual([ann!.submitter, ann!.jobs, ann!.returned, ann!.spent.epsilonNanos], ['ann', 10, 0, 1_000_000_010n]);
  assert.deepEqual([lost!.kind, lost!.spent.epsilonNanos], ['written off', 5n]);
  assert.deepEqual([bob!.submitter, bob!.jobs, bob!.returned, bob!.spent.epsilonNanos], ['bob', 1, 1, 0n]);
});

test('a ledger as CSV: a line an entry, a line a release that was made, no formulas', () => {
  const dataset = create(DatasetSchema, {name: 'datasets/a', cap: {epsilonNanos: 4_000_000_000n, composition: Composition.BASIC, neighbours: Neighbours.ADD_OR_REMOVE_ROW}});
  const csv = new LedgerCsv(dataset);
  const release = {what: 'a, "leaf"', mechanism: 'laplace', epsilonNanos: 250_000_000n, times: 2n};
  const settled = create(LedgerEntrySchema, {kind: LedgerEntryKind.SETTLED, job: 'jobs/j', submitter: '=cmd()', unixSeconds: 0n, cost: {epsilonNanos: 500_000_000n}, releases: [release]});
  csv.add([create(LedgerEntrySchema, {kind: LedgerEntryKind.OPENED})]);
  csv.add([settled]);
  const lines = csv.parts.join('').split('\r\n');
  assert.equal(lines.length, 5);
  assert.ok(lines[1]!.startsWith('a,add or remove row,0,1970-01-01T00:00:00.000Z,opened,,,4,0,'));
  assert.ok(lines[2]!.startsWith("a,add or remove row,1,1970-01-01T00:00:00.000Z,settled,j,'=cmd(),0.5,0,,"));
  assert.ok(lines[3]!.includes(',"a, ""leaf""",laplace,0.25,2,all rows,'));
  assert.equal(csvField('a\nb'), '"a\nb"');
  for (const first of '=+-@\t') assert.ok(csvField(`${first}1`).startsWith("'"), first);
});
